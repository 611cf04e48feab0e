package processor

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/geo"
)

// wireSymbol, wireOctets and wireUUID stand for the SDK's own types of these kinds.
type (
	wireSymbol string
	wireOctets []uint8
	wireUUID   [16]byte
)

func (wireUUID) String() string { return "0f0e0d0c-0000-0000-0000-000000000000" }

func TestBodyOf(t *testing.T) {
	type body = azeventhubs.AMQPAnnotatedMessageBody
	for _, test := range []struct {
		name string
		body body
		want string
	}{
		{"one data section", body{Data: [][]byte{[]byte("one")}}, "one"},
		{"several data sections", body{Data: [][]byte{[]byte(`{"a":`), nil, []byte(`1}`)}}, `{"a":1}`},
		{"an empty data section", body{Data: [][]byte{{}}}, ""},
		{"no section", body{}, ""},
		{"a text value", body{Value: `{"a":1}`}, `{"a":1}`},
		{"a symbol value", body{Value: wireSymbol(`{"a":1}`)}, `{"a":1}`},
		{"a binary value", body{Value: []byte{0x1f, 0x8b}}, "\x1f\x8b"},
		{"a number", body{Value: int8(-7)}, "-7"},
		{"a map of texts", body{Value: map[string]any{"lat": 47.7, "deviceId": "d1"}}, `{"deviceId":"d1","lat":47.7}`},
		{"a map of any keys", body{Value: map[any]any{int32(2): true, "1": nil, uint64(10): uint64(math.MaxUint64)}},
			`{"1":null,"10":18446744073709551615,"2":true}`},
		{"an empty map", body{Value: map[any]any{}}, `{}`},
		{"a list of maps", body{Value: []any{map[string]any{"a": int64(1)}, map[string]any{"b": []any{}}}}, `[{"a":1},{"b":[]}]`},
		{"arrays", body{Value: map[string]any{"a": []int32{1, -2}, "b": []string{"x"}, "c": []wireSymbol{"y"}, "d": wireOctets{1, 2}, "e": []map[any]any{{"f": nil}}}},
			`{"a":[1,-2],"b":["x"],"c":["y"],"d":[1,2],"e":[{"f":null}]}`},
		{"short floats stay short", body{Value: []any{float32(47.757084), 47.757084, float32(1e-7), 1e21}}, `[47.757084,47.757084,1e-07,1e+21]`},
		{"numbers that JSON does not know", body{Value: []any{math.NaN(), float32(math.Inf(1)), math.Inf(-1)}}, `["NaN","+Inf","-Inf"]`},
		{"types that JSON does not know", body{Value: []any{
			time.Date(2026, 11, 30, 13, 0, 0, 5e6, time.FixedZone("", 3600)), []byte("binary"), wireUUID{}, struct{}{}, (*int)(nil),
		}}, `["2026-11-30T12:00:00.005Z","YmluYXJ5","0f0e0d0c-0000-0000-0000-000000000000","struct {}",null]`},
		{"text that needs escapes", body{Value: []any{"a\"b\\c\n\x00\u00e9\u2028\x7f"}}, `["a\"b\\c\u000a\u0000` + "\u00e9\u2028\x7f" + `"]`},
		{"text that is no UTF-8", body{Value: []any{"\xff"}}, "[\"\xff\"]"},
		{"sequence sections", body{Sequence: [][]any{{map[string]any{"a": true}}, {}, {int64(2), "x"}}}, `[{"a":true},2,"x"]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := &azeventhubs.ReceivedEventData{RawAMQPMessage: &azeventhubs.AMQPAnnotatedMessage{Body: test.body}}
			if got := string(bodyOf(e)); got != test.want {
				t.Errorf("body %s, want %s", got, test.want)
			}
		})
	}
}

// Whatever a value holds, it ends in a verdict: nesting beyond all measure and
// numbers that are none are malformed like those of any other body.
func TestHostileValues(t *testing.T) {
	nested := any(map[string]any{})
	for range 100_000 {
		nested = map[any]any{"a": nested}
	}
	position := func(change func(map[string]any)) map[string]any {
		m := map[string]any{"deviceId": "d1", "latitude": 47.7, "longitude": -121.9}
		change(m)
		return m
	}
	decoder, err := geo.NewDecoder(geo.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		value any
		want  geo.Reason
	}{
		{"as it should be", position(func(map[string]any) {}), ""},
		{"nested beyond all measure", nested, geo.Malformed},
		{"NaN", position(func(m map[string]any) { m["latitude"] = math.NaN() }), geo.Malformed},
		{"an infinite altitude", position(func(m map[string]any) { m["altitude"] = math.Inf(1) }), geo.Malformed},
		{"no UTF-8", position(func(m map[string]any) { m["deviceId"] = "\xff" }), geo.Malformed},
		{"a quote in a key", position(func(m map[string]any) { m[`a":`] = "b" }), ""},
		{"a number", int64(7), geo.Malformed},
		{"nothing", nil, geo.Malformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := &azeventhubs.ReceivedEventData{RawAMQPMessage: &azeventhubs.AMQPAnnotatedMessage{
				Body: azeventhubs.AMQPAnnotatedMessageBody{Value: test.value},
			}}
			ev := hubEvent(e)
			if items := decoder.Decode(nil, &ev); len(items) != 1 || items[0].Reason != test.want {
				t.Errorf("verdict %v, want one %q", items, test.want)
			}
		})
	}
}

// A dead letter keeps the body that was decoded, not the one the SDK knows of,
// and what is needed to decode it once more.
func TestADeadLetterKeepsWhatWasDecoded(t *testing.T) {
	b := newBatchTest(t, nil)
	e := event(1, time.Second, "")
	contentType, encoding := "application/json", "utf-8"
	e.ContentType = &contentType
	e.RawAMQPMessage = &azeventhubs.AMQPAnnotatedMessage{
		Properties: &azeventhubs.AMQPAnnotatedMessageProperties{ContentEncoding: &encoding},
		Body: azeventhubs.AMQPAnnotatedMessageBody{
			Data: [][]byte{[]byte(`{"deviceId":"d1",`), []byte(`"latitude":91,"longitude":1}`)},
		},
	}
	e.SystemProperties = map[string]any{"iothub-connection-device-id": "gateway-1", "iothub-connection-module-id": "batcher"}
	if _, err := b.settle(context.Background(), noon, []*azeventhubs.ReceivedEventData{e}); err != nil {
		t.Fatal(err)
	}
	if len(b.dead.letters) != 1 || b.dead.letters[0].Reason != "out_of_range" || b.dead.letters[0].DeviceID != "d1" {
		t.Fatalf("letters %+v", b.dead.letters)
	}
	want := geo.Event{
		Body: []byte(`{"deviceId":"d1","latitude":91,"longitude":1}`), ContentType: contentType, ContentEncoding: encoding,
		HubDeviceID: "gateway-1", ModuleID: "batcher",
	}
	if got := b.dead.letters[0].Event(); !reflect.DeepEqual(got, want) {
		t.Errorf("event %+v, want %+v", got, want)
	}
}

// What JSON can say comes out of a value as it went in, whatever its nesting and
// its texts.
func FuzzValueBody(f *testing.F) {
	for _, seed := range []string{
		`{"deviceId":"d1","latitude":47.7,"nested":{"a":[1,null,true,"x"]}}`, `[]`, `[{"":"\u0000\u001f\"\\"}]`, `1e308`, `-0`, `[0.1,1e-7,123456789012345678]`,
		`{"a":{"a":{"a":[[[{}]]]}},"\u00e9\u2028\ud83d\ude80":"\u007f"}`, `null`, `true`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var in, out any
		if err := json.Unmarshal(text, &in); err != nil {
			return
		}
		wrapped := []any{in} // a text value is a body, not JSON
		body := valueBody(wrapped)
		if err := json.Unmarshal(body, &out); err != nil {
			t.Fatalf("%s became %s: %v", text, body, err)
		}
		if !reflect.DeepEqual(out, any(wrapped)) {
			t.Errorf("%s became %s", text, body)
		}
		if again := valueBody(wrapped); !bytes.Equal(again, body) {
			t.Errorf("%s became %s, and then %s", text, body, again)
		}
	})
}
