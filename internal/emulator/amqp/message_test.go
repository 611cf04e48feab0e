package amqp

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	client "github.com/Azure/go-amqp"
)

// The client library's codec is the second opinion on ours, both ways.

func TestMessageFromClient(t *testing.T) {
	created := time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC)
	text := func(s string) *string { return &s }
	sent := client.Message{
		Header:              &client.MessageHeader{Durable: true, Priority: 3},
		DeliveryAnnotations: client.Annotations{"x": int64(1)},
		Annotations:         client.Annotations{"x-opt-partition-key": "key"},
		Properties: &client.MessageProperties{
			MessageID: "id", UserID: []byte("u"), To: text("to"), Subject: text("s"), ReplyTo: text("r"), CorrelationID: uint64(9),
			ContentType: text("ct"), ContentEncoding: text("ce"), AbsoluteExpiryTime: &created, CreationTime: &created,
			GroupID: text("g"), GroupSequence: new(uint32), ReplyToGroupID: text("rg"),
		},
		ApplicationProperties: map[string]any{"n": int32(5)},
		Data:                  [][]byte{[]byte("one"), bytes.Repeat([]byte("two"), 100)},
		Footer:                client.Annotations{"f": true},
	}
	b, err := sent.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	got, err := SplitMessage(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Data, sent.Data) {
		t.Errorf("data is %q", got.Data)
	}
	entries, err := Entries(got.Annotations)
	if err != nil || len(entries) != 1 || entries[0].Key != "x-opt-partition-key" {
		t.Errorf("annotations are %v, error %v", entries, err)
	}
	if v, _, err := Decode(entries[0].Value); err != nil || v != "key" {
		t.Errorf("annotation is %v, error %v", v, err)
	}
	application, err := DecodeMap(got.ApplicationProperties)
	if err != nil || !reflect.DeepEqual(application, Map{{"n", int32(5)}}) {
		t.Errorf("application properties are %v, error %v", application, err)
	}
	properties, err := DecodeProperties(got.Properties)
	if err != nil {
		t.Fatal(err)
	}
	want := Properties{
		MessageID: "id", UserID: []byte("u"), To: "to", Subject: "s", ReplyTo: "r", CorrelationID: uint64(9),
		ContentType: "ct", ContentEncoding: "ce", AbsoluteExpiryTime: created, CreationTime: created, GroupID: "g", ReplyToGroupID: "rg",
	}
	if !reflect.DeepEqual(properties, want) {
		t.Errorf("properties are\n%+v, want\n%+v", properties, want)
	}
	var bare client.Message
	if err := bare.UnmarshalBinary(got.Bare); err != nil {
		t.Fatal(err)
	}
	if bare.Annotations != nil || bare.Properties.MessageID != "id" || bare.Footer["f"] != true {
		t.Errorf("bare message is %+v", bare)
	}
}

func TestMessageToClient(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC)
	w := OpenMapSection(nil, SectionAnnotations)
	w.Symbol("x-opt-sequence-number", int64(300))
	w.Symbol("x-opt-offset", "4096")
	w.Symbol("x-opt-enqueued-time", at)
	raw := Append(nil, Map{{Symbol("iothub-x"), "y"}, {Symbol("n"), uint8(1)}})
	entries, err := Entries(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		w.Raw(e)
	}
	b := AppendProperties(w.Close(), Properties{MessageID: UUID{1}, CorrelationID: "c", ContentType: "application/json", GroupSequence: 4})
	a := OpenMapSection(b, SectionApplicationProperties)
	a.String("status-code", int32(200))
	b = AppendData(a.Close(), []byte("body"))

	var got client.Message
	if err := got.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	annotations := client.Annotations{"x-opt-sequence-number": int64(300), "x-opt-offset": "4096", "iothub-x": "y", "n": uint8(1)}
	if gotAt, _ := got.Annotations["x-opt-enqueued-time"].(time.Time); !gotAt.Equal(at) {
		t.Errorf("timestamp is %v, want %v", gotAt, at)
	}
	delete(got.Annotations, "x-opt-enqueued-time")
	if !reflect.DeepEqual(got.Annotations, annotations) {
		t.Errorf("annotations are %v, want %v", got.Annotations, annotations)
	}
	if got.Properties.MessageID != (client.UUID{1}) || got.Properties.CorrelationID != "c" || *got.Properties.ContentType != "application/json" || *got.Properties.GroupSequence != 4 {
		t.Errorf("properties are %+v", got.Properties)
	}
	if got.ApplicationProperties["status-code"] != int32(200) || string(got.GetData()) != "body" {
		t.Errorf("status %v, body %q", got.ApplicationProperties["status-code"], got.GetData())
	}
}

func TestValueMessageToClient(t *testing.T) {
	b := AppendValue(nil, Map{{"partition_ids", []string{"0", "1"}}, {"partition_count", int32(2)}})
	var got client.Message
	if err := got.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"partition_ids": []string{"0", "1"}, "partition_count": int32(2)}
	if !reflect.DeepEqual(got.Value, want) {
		t.Errorf("value is %#v, want %#v", got.Value, want)
	}
	sections, err := SplitMessage(b)
	if err != nil {
		t.Fatal(err)
	}
	if v, _, err := Decode(sections.Value); err != nil || len(v.(Map)) != 2 {
		t.Errorf("value came back as %v, error %v", v, err)
	}
}

func TestEmptyPropertiesMakeNoSection(t *testing.T) {
	if b := AppendProperties(nil, Properties{}); len(b) != 0 {
		t.Errorf("got % x", b)
	}
}

func TestSplitMessageRefuses(t *testing.T) {
	for _, test := range []struct{ name, encoding string }{
		{"no section", "40"},
		{"unknown section", "00 5379 40"},
		{"performative", "00 5314 45"},
		{"cut short", "00 5375 a0 05 01"},
		{"out of order", "00 5375 a000 00 5373 45"},
		{"data that is no binary", "00 5375 a100"},
		{"descriptor only", "00 5375"},
	} {
		if m, err := SplitMessage(unhex(t, test.encoding)); err == nil {
			t.Errorf("%s: split into %+v", test.name, m)
		}
	}
}

func TestSymbolicSections(t *testing.T) {
	b := Append(nil, Described{Symbol("amqp:data:binary"), []byte("x")})
	m, err := SplitMessage(b)
	if err != nil || len(m.Data) != 1 || string(m.Data[0]) != "x" {
		t.Errorf("got %+v, error %v", m, err)
	}
}
