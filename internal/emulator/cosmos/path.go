package cosmos

import (
	"fmt"
	"strings"
)

// parsePath splits a path as partition keys and indexing policies write it:
// /a/b, /"odd name"/c, /list/[]/x. Segments lose their quotes.
func parsePath(path string) ([]string, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("path %q does not start with '/'", path)
	}
	var segments []string
	for rest := path; rest != ""; {
		rest = rest[1:] // the slash
		var segment string
		if strings.HasPrefix(rest, `"`) {
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("path %q has an open quote", path)
			}
			segment, rest = rest[1:1+end], rest[2+end:]
		} else {
			end := strings.IndexByte(rest, '/')
			if end < 0 {
				end = len(rest)
			}
			segment, rest = rest[:end], rest[end:]
		}
		if segment == "" || rest != "" && rest[0] != '/' {
			return nil, fmt.Errorf("path %q has a malformed segment", path)
		}
		segments = append(segments, segment)
	}
	return segments, nil
}
