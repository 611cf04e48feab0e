package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"warmpath/internal/azurite"
	"warmpath/internal/local"
	"warmpath/sink"
)

// The commands read the blobs that the service writes, with the service's own
// settings, and send what is in them again.
func TestDeadletterCommandsOnBlobs(t *testing.T) {
	storage := azurite.Start(t)
	store := sink.NewBlobDeadLetters(storage.Container(t, "deadletters"), time.Now)
	now := time.Now().UTC().Truncate(time.Millisecond)
	letters := []sink.DeadLetter{
		{Reason: "malformed", Partition: "3", SequenceNumber: 41, EnqueuedTime: now.Add(-48 * time.Hour), DeviceID: "old", Error: "no JSON", Body: []byte("{")},
		{Reason: "rejected", Partition: "3", SequenceNumber: 42, EnqueuedTime: now.Add(-time.Hour), DeviceID: "d1", Error: "413", Body: []byte(`{"deviceId":"d1","lat":1,"lon":2}`)},
		{Reason: "too_large", Partition: "3", SequenceNumber: 43, EnqueuedTime: now.Add(-time.Hour), Error: "long", Body: []byte(`{"`), Truncated: true},
	}
	if err := store.Put(context.Background(), letters); err != nil {
		t.Fatal(err)
	}
	o := local.DefaultOptions()
	o.Folder = t.TempDir()
	world, err := local.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = world.Close() })
	environment := []string{
		"WARMPATH_STORAGE_CONNECTION_STRING=" + storage.ConnectionString(),
		"WARMPATH_COSMOS_CONNECTION_STRING=" + world.Cosmos.ConnectionString(),
		"WARMPATH_IGNORE_AGE=true", // is no setting: it must be said each time
	}
	for _, test := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
		not            string // must not be in stdout
	}{
		{"list", []string{"list"}, 0, "     3  " + now.Add(-time.Hour).Format("2006-01-02T15:04:05.000Z") + "  too_large  ", "", ""},
		{"list by reason and age", []string{"list", "--reason=rejected,malformed", "--since=24h"}, 0, "d1                        413\n", "", "old"},
		{"show", []string{"show", "2"}, 0, "\n{\"deviceId\":\"d1\",\"lat\":1,\"lon\":2}\n\nnow: {\"id\":\"d1\",", "", ""},
		{"show the body", []string{"show", "--body", "1"}, 0, "{", "", "reason"},
		{"show nothing", []string{"show", "9"}, 1, "", "there is no dead letter 9", ""},
		{"show no number", []string{"show"}, 2, "", "<number>", ""},
		{"resend nothing", []string{"resend"}, 1, "", "no letter is chosen", ""},
		{"resend what is old", []string{"resend", "2"}, 1, "     2  stale          d1: older than --max-age", "", ""},
		{"resend what was cut", []string{"resend", "--ignore-age", "3"}, 1, "     3  refused        only the first 65536 bytes of its body were kept", "1 of what was to be sent again", ""},
		{"resend", []string{"resend", "--ignore-age", "2"}, 0, "     2  written        d1\n", "", ""},
		{"resend to no hub", []string{"resend", "--to-hub", "2"}, 2, "", "--hub-connection-string and --hub-namespace are both empty", ""},
		{"resend to the hub", []string{"resend", "--to-hub", "--hub-connection-string=" + world.Hub.ConnectionString(), "--hub-name=" + local.Hub, "2"}, 0,
			"     2  sent           to partition 3\n", "new enqueued time", ""},
		{"no such store", []string{"list", "--dead-letter-container=missing"}, 1, "", "ContainerNotFound", ""},
		{"no store", []string{"list", "--storage-connection-string="}, 2, "", "--storage-connection-string and --storage-endpoint are both empty", ""},
		{"no time", []string{"list", "--since=yesterday"}, 2, "", "neither a time such as", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			stdout, stderr, code := command(t, environment, append([]string{"deadletter"}, test.args...)...)
			if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
				t.Errorf("exit %d, want %d\nstdout: %s\nstderr: %s\nwant %q and %q", code, test.code, stdout, stderr, test.stdout, test.stderr)
			}
			if test.not != "" && strings.Contains(stdout, test.not) {
				t.Errorf("stdout: %s\nwant no %q in it", stdout, test.not)
			}
			if strings.Contains(stdout+stderr, "AccountKey") {
				t.Errorf("a secret was printed: %s%s", stdout, stderr)
			}
		})
	}
	stored := 0
	for d := range world.Cosmos.Documents(local.Database, local.Container) {
		stored++
		if want := `"enqueuedTime":"` + letters[1].EnqueuedTime.Format("2006-01-02T15:04:05.000Z") + `","partition":"3","sequenceNumber":42,`; !strings.Contains(string(d.Body), want) {
			t.Errorf("stored is %s, want %s in it", d.Body, want)
		}
	}
	if stored != 1 {
		t.Errorf("%d documents are stored, want 1", stored)
	}
}
