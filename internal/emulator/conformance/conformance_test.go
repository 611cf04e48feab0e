package conformance

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"warmpath/internal/azurite"
	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/emulator/eventhubs"
)

var (
	hubConnection     = flag.String("hub-connection", "", "run the Event Hubs checks against this namespace instead of the emulator")
	hubName           = flag.String("hub", "conformance", "the hub to use, which must be there")
	storageConnection = flag.String("storage-connection", "", "keep checkpoints in this storage account instead of Azurite")
	cosmosConnection  = flag.String("cosmos-connection", "", "run the Cosmos DB checks against this account instead of the emulator")
)

func TestMain(m *testing.M) {
	// The Event Hubs client forgets its token renewers when a link is lost; they
	// end with their timers.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(
		"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2/internal.(*Namespace).startNegotiateClaimRenewer.func3"))
}

// TestClientsSeeTheSame runs both halves of the script against the same services
// and holds what they report against testdata/seen.json.
func TestClientsSeeTheSame(t *testing.T) {
	to, emulator := newTarget(t)
	want := make(map[string]json.RawMessage)
	text, err := os.ReadFile(filepath.Join("testdata", "seen.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	halves := []struct {
		language string
		run      func() ([]outcome, error)
	}{
		{"JavaScript", func() ([]outcome, error) { return performJavaScript(t.Context(), to) }},
		{"Go", func() ([]outcome, error) {
			return perform(t.Context(), to, slices.Concat(hubChecks(), cosmosChecks())), nil
		}},
	}
	for _, half := range halves {
		t.Run(half.language, func(t *testing.T) {
			started := time.Now()
			got, err := half.run()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d checks in %v", len(got), time.Since(started).Round(time.Millisecond))
			missing := maps.Clone(want)
			for _, o := range got {
				line, _ := json.Marshal(o)
				t.Logf("%s", line)
				switch {
				case !o.OK:
					t.Errorf("%s failed: %s", o.Name, o.Seen)
				case canonical(t, o.Seen) != canonical(t, want[o.Name]):
					t.Errorf("%s saw %s, want %s", o.Name, o.Seen, want[o.Name])
				}
				delete(missing, o.Name)
			}
			for name := range missing {
				t.Errorf("%s was not run", name)
			}
			if emulator != nil {
				emulator.wantBulk(t)
			}
		})
	}
}

// canonical is JSON in a form that compares by meaning. Nothing is null.
func canonical(t *testing.T, text json.RawMessage) string {
	t.Helper()
	if text == nil {
		return "null"
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("seen %q: %v", text, err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// newTarget starts what the flags do not name. The Cosmos emulator is returned
// if it was started.
func newTarget(t *testing.T) (target, *watched) {
	t.Helper()
	to := target{
		Hub: *hubName, HubConnection: *hubConnection, Storage: *storageConnection, Cosmos: *cosmosConnection, Scarce: *cosmosConnection,
		Run: strconv.FormatInt(time.Now().UnixMilli(), 36),
	}
	if to.HubConnection == "" {
		to.HubConnection = startHub(t, eventhubs.WithHub(to.Hub, 4)).ConnectionString()
	}
	if to.Storage == "" {
		to.Storage = azurite.Start(t).ConnectionString()
	}
	if to.Cosmos != "" {
		return to, nil
	}
	watch := &watched{Server: startCosmos(t, cosmos.WithRanges(bulkRanges))}
	watch.Control(cosmos.BulkRequest, func(call cosmos.Call) *cosmos.Fault {
		watch.note(call.Range)
		return nil
	})
	to.Cosmos = watch.ConnectionString()
	// Less than the 400 of the container, so that a slow machine is refused, too.
	to.Scarce = startCosmos(t, cosmos.WithRUPerRange(250)).ConnectionString()
	return to, watch
}

func startHub(t *testing.T, options ...eventhubs.Option) *eventhubs.Server {
	t.Helper()
	s, err := eventhubs.Start(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the hub: %v", err)
		}
	})
	return s
}

func startCosmos(t *testing.T, options ...cosmos.Option) *cosmos.Server {
	t.Helper()
	s, err := cosmos.Start(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the account: %v", err)
		}
	})
	return s
}

// bulkRanges is how many physical ranges bulk writing is spread over.
const bulkRanges = 5

// watched is an emulator that notes which ranges bulk requests went to, as no
// client tells.
type watched struct {
	*cosmos.Server
	mu     sync.Mutex // covers ranges
	ranges map[string]int
}

func (w *watched) note(rangeID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ranges == nil {
		w.ranges = make(map[string]int)
	}
	w.ranges[rangeID]++
}

// wantBulk checks that bulk requests went to every range since it was asked
// last.
func (w *watched) wantBulk(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.ranges) != bulkRanges {
		t.Errorf("bulk requests went to ranges %v, want all %d", w.ranges, bulkRanges)
	}
	w.ranges = nil
}
