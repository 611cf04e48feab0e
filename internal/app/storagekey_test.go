package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"warmpath/internal/azurite"
	"warmpath/sink"
)

func TestStorageConnectionStrings(t *testing.T) {
	for text, want := range map[string]storageAccount{
		"DefaultEndpointsProtocol=https;AccountName=fleet;AccountKey=a2V5;EndpointSuffix=core.windows.net": {"fleet", "a2V5", "https://fleet.blob.core.windows.net"},
		"AccountName=fleet;AccountKey=a2V5==":                                         {"fleet", "a2V5==", "https://fleet.blob.core.windows.net"},
		"AccountName=f;AccountKey=a;EndpointSuffix=core.usgovcloudapi.net":            {"f", "a", "https://f.blob.core.usgovcloudapi.net"},
		"AccountName=f;AccountKey=a;BlobEndpoint=http://127.0.0.1:10000/devstoreacc1": {"f", "a", "http://127.0.0.1:10000/devstoreacc1"},
	} {
		if got, err := parseStorageString(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if _, err := parseStorageString("AccountKey=sesame"); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("without a name: %v", err)
	}
}

// A storage key that is rotated is read from its file again, in the call that
// was refused.
func TestARotatedStorageKeyIsFound(t *testing.T) {
	server := azurite.Start(t)
	server.Container(t, "deadletters")
	path := filepath.Join(t.TempDir(), "storage")
	wrong := strings.Replace(server.ConnectionString(), "AccountKey=", "AccountKey=AAAA", 1)
	set := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set(wrong)
	client, err := keyedContainer(Secret("file:"+path), "deadletters")
	if err != nil {
		t.Fatal(err)
	}
	letters := sink.NewBlobDeadLetters(client, time.Now)
	if err := letters.Put(context.Background(), []sink.DeadLetter{{Reason: "test"}}); err == nil || !strings.Contains(err.Error(), "403") {
		t.Fatalf("a wrong key was accepted: %v", err)
	}
	set(server.ConnectionString())
	if err := letters.Put(context.Background(), []sink.DeadLetter{{Reason: "test"}}); err != nil {
		t.Errorf("with the rotated key: %v", err)
	}
}
