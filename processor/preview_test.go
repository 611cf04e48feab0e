package processor

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"warmpath/geo"
)

// A preview has every fate in it, in the order of the messages, and documents
// as the service would write them.
func TestPreviewBatch(t *testing.T) {
	decoder, err := geo.NewDecoder(geo.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	message := func(sequence int64, age time.Duration, body string) Message {
		return Message{Event: geo.Event{Body: []byte(body)}, Enqueued: noon.Add(-age), Sequence: sequence}
	}
	messages := []Message{
		message(7, 2*time.Second, `[`+flat("a")+`,`+flat("b")+`]`),
		message(8, time.Second, flat("a")),
		message(9, time.Hour, flat("c")),
		message(10, time.Second, `{"deviceId":"d","latitude":91,"longitude":0}`),
	}
	for _, test := range []struct {
		mode Mode
		want string
	}{
		{Latest, "0.0 superseded a, 0.1 written b b, 1.0 written a a, 2.0 dropped c stale, 3.0 dead-lettered d out_of_range"},
		{History, "0.0 written a a:1796039998000:3:7:0, 0.1 written b b:1796039998000:3:7:1, 1.0 written a a:1796039999000:3:8:0, " +
			"2.0 dropped c stale, 3.0 dead-lettered d out_of_range"},
	} {
		config := DefaultConfig()
		config.Mode = test.mode
		previews, err := PreviewBatch(config, decoder, "3", messages, noon)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range previews {
			line := fmt.Sprintf("%d.%d %s %s", p.Message, p.Index, p.Fate, p.DeviceID)
			if p.Document != nil {
				line += " " + p.Document.ID
				if want := fmt.Sprintf(`"sequenceNumber":%d,"index":%d}`, messages[p.Message].Sequence, p.Index); !strings.Contains(string(p.Document.Body), want) {
					t.Errorf("document %s, want %s in it", p.Document.Body, want)
				}
			}
			if p.Reason != "" {
				line += " " + string(p.Reason)
			}
			got = append(got, line)
		}
		if joined := strings.Join(got, ", "); joined != test.want {
			t.Errorf("%s: got  %s\nwant %s", test.mode, joined, test.want)
		}
	}
}

// What a message says comes out of the SDK's form of it as it went in.
func TestAMessageIsWhatTheHubWouldSay(t *testing.T) {
	m := Message{Event: geo.Event{
		Body: []byte("body"), ContentType: "text/plain", ContentEncoding: "gzip",
		HubDeviceID: "d", ModuleID: "m", MessageSource: "s",
	}}
	if got := hubEvent(m.received()); !reflect.DeepEqual(got, m.Event) {
		t.Errorf("event %+v, want %+v", got, m.Event)
	}
}
