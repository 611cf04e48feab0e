package app_test

import (
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/internal/app"
	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/local"
	"warmpath/processor"
	"warmpath/sink"
)

// resending is a world with dead letters and the settings to send them again.
type resending struct {
	*local.World
	command app.DeadLetterResend
	now     time.Time
}

func newResending(t *testing.T, mode processor.Mode, letters ...sink.DeadLetter) *resending {
	t.Helper()
	o := local.DefaultOptions()
	o.Partitions, o.Folder, o.WriteLatency = 2, t.TempDir(), 0
	w, err := local.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &resending{World: w, now: time.Now().UTC().Truncate(time.Millisecond)}
	config, err := w.Config(mode)
	if err != nil {
		t.Fatal(err)
	}
	r.command.RunSettings = app.RunSettings(config)
	r.put(t, letters...)
	return r
}

// put appends letters to the file.
func (r *resending) put(t *testing.T, letters ...sink.DeadLetter) {
	t.Helper()
	file, err := sink.OpenFileDeadLetters(r.command.DeadLetterFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Put(context.Background(), letters); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// send sends letters again and returns the lines that were printed and what was
// complained about.
func (r *resending) send(t *testing.T, numbers ...int) (lines, complaints string, err error) {
	t.Helper()
	if err := r.command.Validate(); err != nil {
		t.Fatal(err)
	}
	var out, complain strings.Builder
	err = r.command.Resend(t.Context(), numbers, slog.New(slog.DiscardHandler), time.Now, &out, &complain)
	return out.String(), complain.String(), err
}

// stored lists what the container holds: id, latitude, sequence number and age.
func (r *resending) stored(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	for stored := range r.Cosmos.Documents(local.Database, local.Container) {
		var d struct {
			DeviceID string
			Geometry struct{ Coordinates []float64 }
			Source   struct {
				EnqueuedTime   time.Time
				Partition      string
				SequenceNumber int64
				Gateway        string
			}
		}
		if err := json.Unmarshal(stored.Body, &d); err != nil {
			t.Fatal(err)
		}
		docs[stored.ID] = fmt.Sprintf("%v %s/%d %v%s", d.Geometry.Coordinates[1], d.Source.Partition, d.Source.SequenceNumber, r.now.Sub(d.Source.EnqueuedTime), d.Source.Gateway)
	}
	return docs
}

func (r *resending) wantStored(t *testing.T, want map[string]string) {
	t.Helper()
	if got := r.stored(t); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("stored %v, want %v", got, want)
	}
}

// letter is a dead letter of the given age.
func (r *resending) letter(age time.Duration, sequence int64, body string) sink.DeadLetter {
	return sink.DeadLetter{Reason: "rejected", Partition: "1", SequenceNumber: sequence, EnqueuedTime: r.now.Add(-age), Error: "no", Body: []byte(body)}
}

func flat(device string, latitude float64) string {
	return fmt.Sprintf(`{"deviceId":%q,"latitude":%v,"longitude":1}`, device, latitude)
}

func deflate(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	w := zlib.NewWriter(&out)
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A position is written as it would have been: with its enqueued time, its
// sequence number and its device. A second time changes nothing.
func TestResend(t *testing.T) {
	r := newResending(t, processor.Latest)
	hub := r.letter(3*time.Second, 8, flat("claimed", 3))
	hub.HubDeviceID, hub.DeviceID = "c", "c"
	module := r.letter(4*time.Second, 9, `[`+flat("d", 4)+`,`+flat("e", 5)+`]`)
	module.HubDeviceID, module.ModuleID, module.DeviceID, module.Index = "gw", "m", "e", 1
	elsewhere := r.letter(5*time.Second, 10, flat("claimed", 6)) // written by somebody who knows only the device
	elsewhere.DeviceID = "f"
	deflated := r.letter(6*time.Second, 11, deflate(t, flat("g", 7)))
	deflated.ContentEncoding = "deflate"
	r.put(t, r.letter(time.Second, 6, flat("a", 1)), r.letter(2*time.Second, 7, flat("b", 2)), hub, module, elsewhere, deflated)
	r.command.All = true
	lines, _, err := r.send(t)
	want := "     1  written        a\n     2  written        b\n     3  written        c\n     4  written        e\n     5  written        f\n     6  written        g\n"
	if err != nil || lines != want {
		t.Errorf("%v\n%s\nwant\n%s", err, lines, want)
	}
	documents := map[string]string{"a": "1 1/6 1s", "b": "2 1/7 2s", "c": "3 1/8 3s", "e": "5 1/9 4sgw", "f": "6 1/10 5s", "g": "7 1/11 6s"}
	r.wantStored(t, documents)
	writes := len(r.Cosmos.Journal(local.Database, local.Container))
	if lines, _, err := r.send(t); err != nil || lines != want {
		t.Errorf("once more: %v\n%s", err, lines)
	}
	r.wantStored(t, documents)
	if again := len(r.Cosmos.Journal(local.Database, local.Container)); again != writes {
		t.Errorf("sending again has written %d documents", again-writes)
	}
}

// Promise 3: what is stored and newer stays, whoever wrote it and whatever the
// guard is set to; of several letters on one drone the newest stands.
func TestResendNeverReplacesANewerPosition(t *testing.T) {
	for _, guard := range []string{"etag", "none"} {
		for _, writer := range []string{"bulk", "point"} {
			t.Run(writer+" "+guard, func(t *testing.T) {
				r := newResending(t, processor.Latest)
				r.command.Guard, r.command.Writer, r.command.All = guard, writer, true
				r.put(t, r.letter(10*time.Second, 5, flat("a", 1)))
				if _, _, err := r.send(t); err != nil {
					t.Fatal(err)
				}
				r.put(t, r.letter(20*time.Second, 4, flat("a", 2)), r.letter(2*time.Second, 7, flat("b", 3)), r.letter(3*time.Second, 6, flat("b", 4)))
				r.command.All = false
				lines, _, err := r.send(t, 2, 3, 4)
				if err != nil || !strings.Contains(lines, "     2  superseded     a, by what is stored\n") || !strings.Contains(lines, "     3  written        b\n") {
					t.Errorf("%v\n%s", err, lines)
				}
				r.wantStored(t, map[string]string{"a": "1 1/5 10s", "b": "3 1/7 2s"})
			})
		}
	}
}

// Promise 4: what is too old is written only when that is asked for.
func TestResendIgnoresAgeOnlyWhenTold(t *testing.T) {
	r := newResending(t, processor.Latest)
	r.put(t, r.letter(time.Hour, 5, flat("a", 1)))
	lines, _, err := r.send(t, 1)
	if err == nil || lines != "     1  stale          a: older than --max-age; --ignore-age writes it nevertheless\n" {
		t.Errorf("%v\n%s", err, lines)
	}
	r.wantStored(t, map[string]string{})
	r.command.IgnoreAge = true
	if lines, _, err := r.send(t, 1); err != nil || lines != "     1  written        a\n" {
		t.Errorf("%v\n%s", err, lines)
	}
	r.wantStored(t, map[string]string{"a": "1 1/5 1h0m0s"})
}

// In history every position has a document of its own, named after where it came
// from: sent again it is the same one.
func TestResendInHistory(t *testing.T) {
	r := newResending(t, processor.History)
	r.put(t, r.letter(2*time.Second, 5, flat("a", 1)), r.letter(time.Second, 6, flat("a", 2)))
	r.command.All = true
	for range 2 {
		if lines, _, err := r.send(t); err != nil || lines != "     1  written        a\n     2  written        a\n" {
			t.Errorf("%v\n%s", err, lines)
		}
	}
	id := func(age time.Duration, sequence int) string {
		return fmt.Sprintf("a:%d:1:%d:0", r.now.Add(-age).UnixMilli(), sequence)
	}
	r.wantStored(t, map[string]string{id(2*time.Second, 5): "1 1/5 2s", id(time.Second, 6): "2 1/6 1s"})
}

// A letter that was refused for how its payload was read is read with the
// settings of now; one that was refused as a whole stands for all its positions.
func TestResendAfterTheMappingIsMended(t *testing.T) {
	r := newResending(t, processor.Latest)
	other := r.letter(time.Second, 5, `[{"s":"a","p":{"a":10000000,"o":10000000}},{"s":"b","p":{"a":20000000,"o":10000000}},{"s":"a","p":{"a":30000000,"o":10000000}}]`)
	other.Reason = "malformed"
	single := r.letter(time.Second, 6, `[{"s":"c","p":{"a":40000000,"o":10000000}},{"s":"d","p":{"a":50000000,"o":10000000}}]`)
	single.Reason, single.Index = "missing_id", 1
	r.put(t, other, single)
	r.command.All = true
	lines, _, err := r.send(t)
	if err == nil || strings.Count(lines, "dead-lettered  missing_id: neither the hub nor the body names the device") != 4 {
		t.Errorf("before the mapping is mended: %v\n%s", err, lines)
	}
	r.command.MapDeviceID, r.command.MapLatitude, r.command.MapLongitude, r.command.CoordinateUnit = "/s", "/p/a", "/p/o", "1e-7"
	lines, _, err = r.send(t)
	want := "     1  superseded     a, by a newer position of the same message\n     1  written        b\n     1  written        a\n     2  written        d\n"
	if err != nil || lines != want {
		t.Errorf("%v\n%s\nwant\n%s", err, lines, want)
	}
	r.wantStored(t, map[string]string{"a": "3 1/5 1s", "b": "2 1/5 1s", "d": "5 1/6 1s"})
}

// What cannot be sent again says why, and takes nothing else with it.
func TestResendRefusals(t *testing.T) {
	r := newResending(t, processor.Latest)
	cut := r.letter(time.Second, 1, flat("a", 1))
	cut.Truncated = true
	unreadable := r.letter(time.Second, 2, "")
	unreadable.Reason = "unreadable"
	timeless := r.letter(time.Second, 3, flat("a", 1))
	timeless.EnqueuedTime = time.Time{}
	gone := r.letter(time.Second, 4, flat("a", 1))
	gone.Index = 7
	r.put(t, cut, unreadable, timeless, gone, r.letter(time.Second, 5, flat("a", 91)), r.letter(time.Second, 6, flat("refused", 1)), r.letter(time.Second, 7, flat("good", 1)))
	r.Cosmos.Control(cosmos.CreateOperation, func(c cosmos.Call) *cosmos.Fault {
		if !strings.Contains(c.Key, "refused") {
			return nil
		}
		return &cosmos.Fault{Status: http.StatusRequestEntityTooLarge, Keep: true}
	})
	r.command.All = true
	lines, _, err := r.send(t)
	for _, want := range []string{
		"     1  refused        only the first 65536 bytes of its body were kept\n",
		"     2  refused        the hub's client could not hand the event over, there is no body\n",
		"     3  refused        it has no enqueued time, and any other would make it newer than it is\n",
		"     4  refused        its body does not hold as many positions any more\n",
		"     5  dead-lettered  out_of_range: latitude 91 or longitude 1 is out of range\n",
		"     6  rejected       refused: ",
		"     7  written        good\n",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("%q is missing in\n%s", want, lines)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "6 of what was to be sent again did not get there") {
		t.Errorf("error %v", err)
	}
	r.wantStored(t, map[string]string{"good": "1 1/7 1s"})
}

func TestResendSendsWhatIsChosen(t *testing.T) {
	r := newResending(t, processor.Latest)
	other := r.letter(2*time.Second, 2, flat("b", 1))
	other.Reason = "bad_id"
	r.put(t, r.letter(time.Second, 1, flat("a", 1)), other, r.letter(time.Hour, 3, flat("c", 1)))
	if lines, _, err := r.send(t); err == nil || !strings.Contains(err.Error(), "no letter is chosen") || lines != "" {
		t.Errorf("nothing chosen: %v\n%s", err, lines)
	}
	if lines, _, err := r.send(t, 1, 9); err == nil || !strings.Contains(err.Error(), "[9]") || lines != "" {
		t.Errorf("a letter that is not there: %v\n%s", err, lines)
	}
	r.command.Reason = []string{"bad_id"}
	if lines, _, err := r.send(t); err != nil || lines != "     2  written        b\n" {
		t.Errorf("by reason: %v\n%s", err, lines)
	}
	r.command.Reason = nil
	if err := r.command.Since.UnmarshalText([]byte("1m")); err != nil {
		t.Fatal(err)
	}
	if lines, _, err := r.send(t); err != nil || lines != "     1  written        a\n     2  written        b\n" {
		t.Errorf("by time: %v\n%s", err, lines)
	}
}

// Promise 5: letters are not written into a container that their documents could
// not live in.
func TestResendChecksTheContainer(t *testing.T) {
	r := newResending(t, processor.Latest)
	r.put(t, r.letter(time.Second, 1, flat("a", 1)))
	r.Cosmos.DeleteContainer(local.Database, local.Container)
	err := r.Cosmos.CreateContainer(local.Database, cosmos.Container{
		ID: local.Container, PartitionKey: cosmos.PartitionKey{Paths: []string{"/tenantId"}, Kind: "Hash", Version: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.send(t, 1); err == nil || !strings.Contains(err.Error(), "/tenantId") {
		t.Errorf("error %v", err)
	}
}

// To the hub goes each message once, to its partition, with what the hub said of
// it; and the warning comes first.
func TestResendToTheHub(t *testing.T) {
	r := newResending(t, processor.Latest)
	first := r.letter(time.Hour, 1, `[{"deviceId":"a"},{"deviceId":"b"}]`)
	first.ContentType, first.ContentEncoding, first.HubDeviceID, first.ModuleID = "application/json", "utf-8", "gw", "m"
	second := first
	second.Index = 1
	cut := r.letter(time.Hour, 2, "")
	cut.Truncated = true
	nowhere := r.letter(time.Hour, 3, "x")
	nowhere.Partition = "7"
	r.put(t, first, second, cut, nowhere)
	r.command.ToHub, r.command.All = true, true
	r.command.CosmosConnectionString = "" // not needed
	lines, complaints, err := r.send(t)
	if err == nil || !strings.HasPrefix(complaints, "warmpath: the hub gives each message a new enqueued time") {
		t.Errorf("%v\n%s", err, complaints)
	}
	want := "     1  sent           to partition 1\n     2  sent           with a letter before it, of the same message\n     3  refused        only the first 65536 bytes of its body were kept\n     4  refused        "
	if !strings.HasPrefix(lines, want) {
		t.Errorf("%s\nwant\n%s", lines, want)
	}
	info, err := r.Hub.PartitionInfo(local.Hub, "1")
	if err != nil || info.LastSequence != 0 {
		t.Fatalf("partition 1 ends at %d, want one message in it (%v)", info.LastSequence, err)
	}
	consumer, err := azeventhubs.NewConsumerClientFromConnectionString(r.Hub.ConnectionString(), local.Hub, "$Default", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = consumer.Close(context.Background()) }()
	earliest := true
	partition, err := consumer.NewPartitionClient("1", &azeventhubs.PartitionClientOptions{StartPosition: azeventhubs.StartPosition{Earliest: &earliest}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = partition.Close(context.Background()) }()
	events, err := partition.ReceiveEvents(t.Context(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := events[0]
	if string(e.Body) != string(first.Body) || e.SystemProperties["iothub-connection-device-id"] != "gw" || e.SystemProperties["iothub-connection-module-id"] != "m" ||
		e.ContentType == nil || *e.ContentType != "application/json" || e.RawAMQPMessage.Properties.ContentEncoding == nil || *e.RawAMQPMessage.Properties.ContentEncoding != "utf-8" {
		t.Errorf("the hub got %s %v %+v", e.Body, e.SystemProperties, e.RawAMQPMessage.Properties)
	}
	if e.EnqueuedTime.Before(r.now) {
		t.Errorf("enqueued at %v, want a new time", e.EnqueuedTime)
	}
}

// What a command needs to be told depends on where it sends.
func TestResendSettings(t *testing.T) {
	valid := func(change func(*app.DeadLetterResend)) string {
		config, err := local.Config("Endpoint=sb://h", "AccountEndpoint=https://c;AccountKey=a2V5;", t.TempDir(), processor.Latest)
		if err != nil {
			t.Fatal(err)
		}
		d := app.DeadLetterResend{RunSettings: app.RunSettings(config)}
		d.CheckpointStore = "blob" // run's own affair
		change(&d)
		if err := d.Validate(); err != nil {
			return err.Error()
		}
		return ""
	}
	for name, test := range map[string]struct {
		change func(*app.DeadLetterResend)
		want   string
	}{
		"as it is":             {func(*app.DeadLetterResend) {}, ""},
		"without a hub":        {func(d *app.DeadLetterResend) { d.HubConnectionString = "" }, ""},
		"without a store":      {func(d *app.DeadLetterResend) { d.CosmosConnectionString = "" }, "--cosmos-connection-string and --cosmos-endpoint are both empty"},
		"to a hub, no store":   {func(d *app.DeadLetterResend) { d.ToHub, d.CosmosConnectionString = true, "" }, ""},
		"to a hub that is not": {func(d *app.DeadLetterResend) { d.ToHub, d.HubConnectionString = true, "" }, "--hub-connection-string and --hub-namespace are both empty"},
		"letters nowhere":      {func(d *app.DeadLetterResend) { d.DeadLetterStore = "blob" }, "--storage-connection-string and --storage-endpoint are both empty"},
		"a bad mapping":        {func(d *app.DeadLetterResend) { d.MapLatitude = "lat" }, "--map-latitude"},
	} {
		if got := valid(test.change); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: error %q, want %q", name, got, test.want)
		}
	}
}
