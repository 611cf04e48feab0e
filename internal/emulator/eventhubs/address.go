package eventhubs

import (
	"strings"
)

// address is where a link leads. Names in it are matched in any case.
type address struct {
	text      string
	ok        bool   // whether it is any of the known forms
	node      string // $cbs or $management, in lower case
	iotHub    bool   // a path of an IoT Hub, to be redirected
	hub       string
	group     string
	partition string
	publisher string
}

// parseAddress knows these forms:
//
//	hub
//	hub/Partitions/id
//	hub/Publishers/name
//	hub/ConsumerGroups/group/Partitions/id
//	$cbs, $management, hub/$management
//	messages/events/...
func parseAddress(text string) address {
	a := address{text: text, ok: true}
	parts := strings.Split(strings.Trim(text, "/"), "/")
	is := func(i int, want string) bool { return strings.EqualFold(parts[i], want) }
	switch n := len(parts); {
	case n >= 2 && is(0, "messages") && is(1, "events"):
		a.iotHub = true
	case n <= 2 && (is(n-1, nodeCBS) || is(n-1, nodeManagement)):
		a.node = strings.ToLower(parts[n-1])
	case n == 1 && parts[0] != "":
		a.hub = parts[0]
	case n == 3 && is(1, "Partitions"):
		a.hub, a.partition = parts[0], parts[2]
	case n == 3 && is(1, "Publishers"):
		a.hub, a.publisher = parts[0], parts[2]
	case n == 5 && is(1, "ConsumerGroups") && is(3, "Partitions"):
		a.hub, a.group, a.partition = parts[0], parts[2], parts[4]
	default:
		a.ok = false
	}
	return a
}
