package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"warmpath/internal/azurite"
)

// transcript lists what was read: reasons, and errors in brackets.
func transcript(letters func(func(*DeadLetter, error) bool)) string {
	var seen []string
	for letter, err := range letters {
		if err != nil {
			seen = append(seen, "["+err.Error()+"]")
			continue
		}
		seen = append(seen, letter.Reason)
	}
	return strings.Join(seen, " ")
}

func TestReadDeadLetters(t *testing.T) {
	letter := func(reason string) string { return `{"reason":"` + reason + `","body":"YQ=="}` }
	long := `{"reason":"` + strings.Repeat("x", maxLine) + `"}`
	for _, test := range []struct{ name, text, want string }{
		{"none", "", ""},
		{"two", letter("a") + "\n" + letter("b") + "\n", "a b"},
		{"blank lines and CRLF", "\n" + letter("a") + "\r\n \n" + letter("b") + "\n", "a b"},
		{"a last line without an end", letter("a") + "\n" + letter("b"), "a b"},
		{"an unfinished last line", letter("a") + "\n" + letter("b")[:9], "a"},
		{"a damaged line", letter("a") + "\n{\"reason\n" + letter("b") + "\n", "a [line 2 is no dead letter: invalid character '\\n' in string literal] b"},
		{"no object", "7\n" + letter("b") + "\n", "[line 1 is no dead letter: json: cannot unmarshal number into Go value of type sink.DeadLetter] b"},
		{"no reason", "{}\n" + letter("b") + "\n", "[line 1 is no dead letter: it has no reason] b"},
		{"a line without bounds", letter("a") + "\n" + long + "\n" + letter("b") + "\n", fmt.Sprintf("a [line 2 is no dead letter: it is longer than %d bytes] b", maxLine)},
		{"an unfinished line without bounds", letter("a") + "\n" + long, "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := transcript(ReadDeadLetters(strings.NewReader(test.text))); got != test.want {
				t.Errorf("read %.300s, want %s", got, test.want)
			}
		})
	}
	broken := io.MultiReader(strings.NewReader(letter("a")+"\n"), iotest.ErrReader(errors.New("bad disk")))
	if got, want := transcript(ReadDeadLetters(broken)), "a [read dead letters: bad disk]"; got != want {
		t.Errorf("read %s, want %s", got, want)
	}
	for _, err := range ReadDeadLetters(strings.NewReader(letter("a") + "\n" + letter("b") + "\n")) {
		if err != nil {
			t.Error(err)
		}
		break // a consumer that has enough is not called again, or this panics
	}
}

// What was put is read again, whole, from every blob and in order.
func TestReadBlobDeadLetters(t *testing.T) {
	server := azurite.Start(t)
	client := server.Container(t, "deadletters")
	ctx := context.Background()
	now := time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)
	b := NewBlobDeadLetters(client, func() time.Time { return now })
	first := DeadLetter{
		Reason: "rejected", Partition: "3", Offset: "4711", SequenceNumber: 42, Index: 1, EnqueuedTime: now, DeviceID: "d", Error: "no",
		ContentType: "application/json", ContentEncoding: "deflate", HubDeviceID: "gw", ModuleID: "m",
	}
	first.KeepBody([]byte("\x00body"))
	large := DeadLetter{Reason: "large"}
	large.KeepBody(bytes.Repeat([]byte{0xFF}, MaxDeadLetterBody))
	for _, reasons := range [][]DeadLetter{{first, large}, {{Reason: "second"}}} {
		if err := b.Put(ctx, reasons); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second) // the next day, another blob
	}
	if _, err := client.NewBlockBlobClient("notes.txt").UploadBuffer(ctx, []byte("no letters here\n"), nil); err != nil {
		t.Fatal(err)
	}
	if got, want := transcript(ReadBlobDeadLetters(ctx, client)), "rejected large second"; got != want {
		t.Errorf("read %s, want %s", got, want)
	}
	for got, err := range ReadBlobDeadLetters(ctx, client) {
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", first) {
			t.Errorf("read %+v, want %+v", *got, first)
		}
		break
	}
	missing, err := container.NewClientFromConnectionString(server.ConnectionString(), "missing", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := transcript(ReadBlobDeadLetters(ctx, missing)); !strings.HasPrefix(got, "[list dead letters: ") || !strings.Contains(got, "ContainerNotFound") {
		t.Errorf("read %s, want an error that says that there is no container", got)
	}
}
