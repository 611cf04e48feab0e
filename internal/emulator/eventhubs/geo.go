package eventhubs

import (
	"fmt"
	"strconv"
	"strings"

	"warmpath/internal/emulator/amqp"
)

// invalidOffset is how a geo-replicated namespace calls an offset from before
// replication was on, or from elsewhere.
const invalidOffset amqp.Symbol = "com.microsoft:georeplication:invalid-offset"

// geoEpoch is the replication epoch in the offsets of geo-replicated hubs: the
// number of primaries there have been. There is no fail-over here.
const geoEpoch = 1

// formatOffset gives the offset of the event at byte n: a number, or in a
// geo-replicated hub <epoch>:<partition>:<n>. The latter form is a guess; the
// service's is opaque and not documented.
func (p *partition) formatOffset(n int64) string {
	if !p.hub.config.GeoReplicated {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%d:%s:%d", geoEpoch, p.id, n)
}

// parseOffset undoes formatOffset. "-1", the start of the partition, is valid
// everywhere.
func (p *partition) parseOffset(offset string) (int64, *amqp.Error) {
	if offset == "-1" {
		return -1, nil
	}
	digits := offset
	if p.hub.config.GeoReplicated {
		prefix := fmt.Sprintf("%d:%s:", geoEpoch, p.id)
		var ok bool
		if digits, ok = strings.CutPrefix(offset, prefix); !ok {
			return 0, amqp.Errorf(invalidOffset, "The supplied offset '%s' is not valid in this geo-replicated namespace.", offset)
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, amqp.Errorf(amqp.InvalidField, "The supplied offset '%s' is not valid.", offset)
	}
	return n, nil
}
