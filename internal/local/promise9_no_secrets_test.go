package local

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"warmpath/internal/azurite"
	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/emulator/eventhubs"
	"warmpath/processor"
)

// Promise 9 (no secrets, no bodies): under every kind of fault, neither the log
// at info level nor /metrics nor /readyz holds a key or a piece of a body.
func TestPromise9NoSecretsNoBodies(t *testing.T) {
	const marker = "BODY-MARKER-4711"
	store := azurite.Start(t)
	store.Container(t, "checkpoints")
	w := newWorld(t, nil)
	c := startChild(t, w, store, processor.Latest)
	address := c.listening()
	publish := func(body string) {
		t.Helper()
		if _, err := w.Hub.Publish(Hub, "0", eventhubs.Event{Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	good := `{"deviceId":"d","latitude":47.6,"longitude":-122.1,"note":"` + marker + `"}`
	publish(`{"deviceId":"` + marker)          // malformed
	publish(`{"deviceId":["` + marker + `"]}`) // bad id
	for _, fault := range []cosmos.Fault{
		cosmos.Answer(http.StatusUnauthorized, 0),
		cosmos.Answer(http.StatusForbidden, 5300),
		cosmos.Throttle(10 * time.Millisecond),
		{Status: http.StatusBadRequest, Message: "the document " + marker + " is bad"},
		{Status: http.StatusServiceUnavailable, Message: marker},
		{Reset: true},
	} {
		w.Cosmos.Control(cosmos.AnyOperation, cosmos.Once(fault))
		publish(good)
		time.Sleep(50 * time.Millisecond)
	}
	w.Hub.ResetConnections()
	publish(good)
	waitFor(t, "all settled", func() bool {
		families, err := scrape(address)
		if err != nil {
			return false
		}
		return byPartition(families, "warmpath_events_received_total")["0"] >= 9 && byPartition(families, "warmpath_positions_in_flight")["0"] == 0
	})

	seen := map[string]string{}
	for _, path := range []string{"/metrics", "/readyz", "/healthz"} {
		response, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		seen[path] = string(body)
	}
	if code := c.terminate(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	seen["the log"] = strings.Join(c.lines(), "\n")
	if !strings.Contains(seen["the log"], "delayed") {
		t.Errorf("the faults left no trace in the log, so nothing was tried:\n%s", seen["the log"])
	}
	secrets := []string{marker, w.Cosmos.Key()}
	for _, connection := range []string{w.Hub.ConnectionString(), w.Cosmos.ConnectionString(), store.ConnectionString()} {
		for part := range strings.SplitSeq(connection, ";") {
			if name, value, _ := strings.Cut(part, "="); strings.HasSuffix(name, "Key") {
				secrets = append(secrets, value)
			}
		}
	}
	for where, text := range seen {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q:\n%s", where, secret, text)
			}
		}
	}
}
