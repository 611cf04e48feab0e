package cosmos

import (
	"strconv"
	"strings"
)

const messageSession = "The read session is not available for the input session token."

// sessionToken names a state of a range: the range, a version of the topology
// and a log sequence number.
func sessionToken(rangeID string, lsn uint64) string {
	return rangeID + ":-1#" + strconv.FormatUint(lsn, 10)
}

// sessionLSN is the log sequence number that a client has seen of a range, 0 if
// its token does not tell. A token lists ranges separated by commas; what this
// server did not write says nothing about it.
func sessionLSN(token, rangeID string) uint64 {
	for token != "" {
		var one string
		one, token, _ = strings.Cut(token, ",")
		id, state, ok := strings.Cut(one, ":")
		if !ok || id != rangeID {
			continue
		}
		parts := strings.Split(state, "#")
		if len(parts) < 2 {
			continue
		}
		if lsn, err := strconv.ParseUint(parts[1], 10, 64); err == nil {
			return lsn
		}
	}
	return 0
}
