package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"warmpath/internal/azurite"
)

// loseAnswer lets a request through and then pretends that it failed.
type loseAnswer struct{ next int }

func (l *loseAnswer) Do(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultClient.Do(r)
	if l.next > 0 && r.URL.Query().Get("comp") == "appendblock" {
		l.next--
		if err == nil {
			_ = response.Body.Close()
		}
		return nil, errors.New("connection reset after the request")
	}
	return response, err
}

func TestBlobDeadLetters(t *testing.T) {
	server := azurite.Start(t)
	ctx := context.Background()
	all := server.Container(t, "deadletters")
	losing := &loseAnswer{}
	client, err := container.NewClientFromConnectionString(server.ConnectionString(), "deadletters", &container.ClientOptions{
		ClientOptions: azcore.ClientOptions{Transport: losing, Retry: policy.RetryOptions{MaxRetries: 1, RetryDelay: time.Millisecond}},
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC)
	b := NewBlobDeadLetters(client, func() time.Time { return now })

	put := func(reasons ...string) {
		t.Helper()
		var letters []DeadLetter
		for _, r := range reasons {
			l := DeadLetter{Reason: r}
			if r == "large" {
				l.KeepBody(bytes.Repeat([]byte("x"), MaxDeadLetterBody))
			}
			letters = append(letters, l)
		}
		if err := b.Put(ctx, letters); err != nil {
			t.Fatal(err)
		}
	}
	put("first", "second")
	losing.next = 1 // the SDK's own retry meets the block that it has written
	put("third")
	var large []string
	for range 60 { // five megabytes: more than one block takes
		large = append(large, "large")
	}
	put(large...)
	now = now.Add(time.Second) // the next day
	put("fourth")

	var got, names []string
	pager := all.NewListBlobsFlatPager(nil)
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Segment.BlobItems {
			names = append(names, *item.Name)
			got = append(got, reasonsIn(t, all, *item.Name)...)
		}
	}
	if len(names) != 2 || !strings.HasPrefix(names[0], "2026/11/30/235959") || !strings.HasPrefix(names[1], "2026/12/01/000000") {
		t.Errorf("blobs %v, want one a day", names)
	}
	if want := "first second third" + strings.Repeat(" large", 60) + " fourth"; strings.Join(got, " ") != want {
		t.Errorf("letters %v, want each once and in order", got)
	}
}

func reasonsIn(t *testing.T, c *container.Client, name string) []string {
	t.Helper()
	response, err := c.NewBlobClient(name).DownloadStream(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for line := range bytes.Lines(text) {
		var l DeadLetter
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%s: line %q: %v", name, line[:min(len(line), 80)], err)
		}
		reasons = append(reasons, l.Reason)
	}
	return reasons
}
