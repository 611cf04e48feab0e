package app

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"warmpath/sink"
)

// The settings of the letter commands are those of run: same names, same help,
// same defaults.
func TestLetterStoreSettingsAreThoseOfRun(t *testing.T) {
	run, own := reflect.TypeFor[Config](), reflect.TypeFor[LetterStore]()
	for i := range own.NumField() {
		field := own.Field(i)
		other, ok := run.FieldByName(field.Name)
		if !ok || other.Tag != field.Tag || other.Type != field.Type {
			t.Errorf("%s is %v `%s`, in run it is %v `%s`", field.Name, field.Type, field.Tag, other.Type, other.Tag)
		}
	}
	c := Config{StorageConnectionString: "a", StorageEndpoint: "b", DeadLetterStore: "c", DeadLetterContainer: "d", DeadLetterFile: "e"}
	c.Cloud = "f"
	if got, want := c.letterStore(), (LetterStore{"a", "b", "c", "d", "e", "f"}); got != want {
		t.Errorf("letter store %+v, want %+v", got, want)
	}
}

func TestSince(t *testing.T) {
	for text, want := range map[string]time.Time{
		"":                          {},
		"90m":                       noon.Add(-90 * time.Minute),
		"2026-11-30T12:00:00+01:00": noon.Add(-time.Hour),
	} {
		var s Since
		if text != "" {
			if err := s.UnmarshalText([]byte(text)); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		if got := s.time(noon); !got.Equal(want) {
			t.Errorf("since %s is %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"yesterday", "-1h", "2026-11-30"} {
		var s Since
		if err := s.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("since %s: error %v", text, err)
		}
	}
}

// letterFile writes letters to a file of the test and returns its settings.
func letterFile(t *testing.T, letters ...sink.DeadLetter) LetterStore {
	t.Helper()
	path := filepath.Join(t.TempDir(), "letters.ndjson")
	file, err := sink.OpenFileDeadLetters(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Put(context.Background(), letters); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return LetterStore{DeadLetterStore: "file", DeadLetterFile: path}
}

func three() []sink.DeadLetter {
	return []sink.DeadLetter{
		{Reason: "malformed", Partition: "3", Offset: "4711", SequenceNumber: 42, EnqueuedTime: noon.Add(-2 * time.Hour), DeviceID: "d1", Error: "not JSON", Body: []byte("{\x1b[2J\r\n\tx")},
		{Reason: "bad_id", Partition: "0", SequenceNumber: 7, Index: 1, EnqueuedTime: noon.Add(-time.Hour), DeviceID: "d\n2\u202e", Error: "an id\x00", Body: []byte{0x1f, 0x8b, 8}, Truncated: true},
		{Reason: "unreadable", Partition: "31", SequenceNumber: 9, Error: "no"},
	}
}

func TestListOfLetters(t *testing.T) {
	const head = "number  time                      reason                 partition      sequence  device                    error\n"
	const first = "     1  2026-11-30T10:00:00.000Z  malformed              3                    42  d1                        not JSON\n"
	const second = `     2  2026-11-30T11:00:00.000Z  bad_id                 0                     7  d\n2\u202e                an id\x00` + "\n"
	const third = "     3                            unreadable             31                    9                            no\n"
	for _, test := range []struct {
		name      string
		selection Selection
		want      string
	}{
		{"all", Selection{}, head + first + second + third},
		{"by reason", Selection{Reason: []string{"bad_id", "rejected"}}, head + second},
		{"by age", Selection{Since: Since{ago: 90 * time.Minute}}, head + second},
		{"by time", Selection{Since: Since{at: noon.Add(-2 * time.Hour)}}, head + first + second},
		{"by both", Selection{Reason: []string{"malformed"}, Since: Since{ago: 90 * time.Minute}}, head},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := DeadLetterList{letterFile(t, three()...), test.selection}
			var out, complaints strings.Builder
			if err := list.List(context.Background(), noon, &out, &complaints); err != nil || complaints.Len() > 0 {
				t.Errorf("%v %s", err, complaints.String())
			}
			if out.String() != test.want {
				t.Errorf("got\n%swant\n%s", out.String(), test.want)
			}
		})
	}
}

// A damaged line is told and makes the command fail, but hides no letter.
func TestListOfADamagedFile(t *testing.T) {
	list := DeadLetterList{LetterStore: letterFile(t, three()[0])}
	file, err := os.OpenFile(list.DeadLetterFile, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("damage\n{\"reason\":\"rejected\"}\n"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	var out, complaints strings.Builder
	err = list.List(context.Background(), noon, &out, &complaints)
	if err == nil || !strings.Contains(complaints.String(), "line 2 is no dead letter") || !strings.Contains(out.String(), "     2                            rejected") {
		t.Errorf("%v\n%s\n%s", err, complaints.String(), out.String())
	}
	list.DeadLetterFile += ".none"
	if err := list.List(context.Background(), noon, &out, &complaints); err == nil || !strings.Contains(complaints.String(), "no such file") {
		t.Errorf("a file that is not there: %v\n%s", err, complaints.String())
	}
}

func TestShowOfALetter(t *testing.T) {
	now := sink.DeadLetter{
		Reason: "malformed", Partition: "3", SequenceNumber: 42, EnqueuedTime: noon, Error: "no position",
		ContentType: "text/plain", ContentEncoding: "utf-8", HubDeviceID: "gw", ModuleID: "m", Body: []byte(`{"deviceId":"d","gps":{"a":1,"o":2}}`),
	}
	show := DeadLetterShow{LetterStore: letterFile(t, append(three(), now)...), KeyPath: "/deviceId"}
	p, err := preview(t, "--map-latitude=/gps/a", "--map-longitude=/gps/o")
	if err != nil {
		t.Fatal(err)
	}
	show.Decoding = p.Decoding
	for number, want := range map[int]string{
		1: `number            1
reason            malformed
error             not JSON
device            d1
time              2026-11-30T10:00:00.000Z
partition         3
sequence          42
offset            4711
index             0
body              9 bytes

{\x1b[2J
\tx

now: {"index":0,"fate":"dead-lettered","reason":"malformed","deviceId":"d1","error":"not JSON at byte 1: a member without a name"}
`,
		2: `number            2
reason            bad_id
error             an id\x00
device            d\n2\u202e
time              2026-11-30T11:00:00.000Z
partition         0
sequence          7
index             1
body              3 bytes, the first of a body that was longer

00000000  1f 8b 08                                          |...|

now: cannot be sent again, only the first 65536 bytes of its body were kept
`,
		4: `number            4
reason            malformed
error             no position
time              2026-11-30T12:00:00.000Z
partition         3
sequence          42
index             0
hub device        gw
hub module        m
content type      text/plain
content encoding  utf-8
body              36 bytes

{"deviceId":"d","gps":{"a":1,"o":2}}

now: {"id":"d","deviceId":"d","type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{},"source":{"enqueuedTime":"2026-11-30T12:00:00.000Z","partition":"3","sequenceNumber":42,"index":0,"gateway":"gw"}}
`,
	} {
		var out strings.Builder
		if err := show.Show(context.Background(), number, false, noon, &out); err != nil {
			t.Errorf("letter %d: %v", number, err)
		}
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	}
	var raw strings.Builder
	if err := show.Show(context.Background(), 2, true, noon, &raw); err != nil || raw.String() != "\x1f\x8b\x08" {
		t.Errorf("the body alone is %q, %v", raw.String(), err)
	}
	if err := show.Show(context.Background(), 5, false, noon, &raw); err == nil || !strings.Contains(err.Error(), "no dead letter 5") {
		t.Errorf("a letter that is not there: %v", err)
	}
}
