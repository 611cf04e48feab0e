package eventhubs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/internal/emulator/amqp"
	"warmpath/internal/emulator/eventhubs"
)

// inject installs a fault for the length of a test.
func inject(t *testing.T, s *eventhubs.Server, f eventhubs.Fault) *eventhubs.Control {
	t.Helper()
	c, err := s.Inject(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Remove)
	return c
}

// What the client library gets over by itself costs no event and repeats none.
func TestFaultsThatClientsGetOver(t *testing.T) {
	const n = 2000
	all := eventhubs.Target{Hub: testHub}
	detach := func(condition amqp.Symbol) func(*testing.T, *eventhubs.Server) {
		return func(_ *testing.T, s *eventhubs.Server) { s.DetachLinks(all, amqp.Errorf(condition, "test")) }
	}
	for _, test := range []struct {
		name  string
		fault func(*testing.T, *eventhubs.Server)
	}{
		{"reset", func(_ *testing.T, s *eventhubs.Server) { s.ResetConnections() }},
		{"close", func(_ *testing.T, s *eventhubs.Server) {
			s.CloseConnections(amqp.Errorf(amqp.ConnectionForced, "test"))
		}},
		{"close without reason", func(_ *testing.T, s *eventhubs.Server) { s.CloseConnections(nil) }},
		{"session end", func(_ *testing.T, s *eventhubs.Server) {
			s.EndSessions(all, amqp.Errorf(amqp.InternalError, "test"))
		}},
		{"detach forced", detach(amqp.DetachForced)},
		{"detach server busy", detach("com.microsoft:server-busy")},
		{"detach not found", detach(amqp.NotFound)},
		{"detach unauthorized", detach(amqp.UnauthorizedAccess)},
		{"detach without reason", func(_ *testing.T, s *eventhubs.Server) { s.DetachLinks(all, nil) }},
		{"suspend", func(_ *testing.T, s *eventhubs.Server) { s.SuspendLinks(all, nil) }},
		{"refused attach", func(t *testing.T, s *eventhubs.Server) {
			inject(t, s, eventhubs.Fault{Op: eventhubs.OpAttach, Action: eventhubs.Refuse, Condition: "com.microsoft:server-busy", Times: 1})
			s.DetachLinks(all, nil)
		}},
		{"refused open", func(t *testing.T, s *eventhubs.Server) {
			inject(t, s, eventhubs.Fault{Op: eventhubs.OpOpen, Action: eventhubs.Refuse, Times: 1})
			s.ResetConnections()
		}},
		{"refused connection", func(t *testing.T, s *eventhubs.Server) {
			inject(t, s, eventhubs.Fault{Op: eventhubs.OpAccept, Action: eventhubs.Drop, Times: 1})
			s.ResetConnections()
		}},
		{"slow connection", func(t *testing.T, s *eventhubs.Server) {
			inject(t, s, eventhubs.Fault{Op: eventhubs.OpAccept, Delay: 100 * time.Millisecond, Times: 1})
			s.ResetConnections()
		}},
		{"token refused for a while", func(t *testing.T, s *eventhubs.Server) {
			inject(t, s, eventhubs.Fault{Op: eventhubs.OpCBS, Action: eventhubs.Refuse, Status: 503, Description: "busy", Times: 1})
			s.ResetConnections()
		}},
		{"reset in mid-stream", func(t *testing.T, s *eventhubs.Server) {
			inject(t, s, eventhubs.Fault{Op: eventhubs.OpTransfer, Action: eventhubs.ResetConnection, After: 100, Times: 1})
		}},
		{"close at a transfer", func(t *testing.T, s *eventhubs.Server) {
			inject(t, s, eventhubs.Fault{Op: eventhubs.OpTransfer, Action: eventhubs.CloseConnection, Times: 1})
		}},
		{"slow drip", func(t *testing.T, s *eventhubs.Server) {
			inject(t, s, eventhubs.Fault{Op: eventhubs.OpTransfer, Delay: time.Millisecond, Times: 50})
		}},
		{"stall", func(_ *testing.T, s *eventhubs.Server) {
			c := s.Stall(testHub, "0")
			time.AfterFunc(50*time.Millisecond, c.Remove)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			publish(t, s, "0", n)
			c := newConsumerWith(t, s, "$Default", &azeventhubs.ConsumerClientOptions{
				RetryOptions: azeventhubs.RetryOptions{MaxRetries: 5, RetryDelay: 5 * time.Millisecond, MaxRetryDelay: 20 * time.Millisecond}})
			p := newPartition(t, c, "0", &azeventhubs.PartitionClientOptions{
				StartPosition: azeventhubs.StartPosition{Earliest: to(true)}, Prefetch: 100})
			events := receive(t, p, n/4)
			test.fault(t, s)
			events = append(events, receive(t, p, n-len(events))...)
			for i, e := range events {
				if e.SequenceNumber != int64(i) {
					t.Fatalf("event %d has sequence number %d", i, e.SequenceNumber)
				}
			}
		})
	}
}

func TestStolenLinkIsFatal(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 1)
	p := newPartition(t, newConsumer(t, s), "0", nil)
	receive(t, p, 1)
	s.DetachLinks(eventhubs.Target{Hub: testHub, Partition: "0"}, amqp.Errorf(amqp.Stolen, "test"))
	_, err := p.ReceiveEvents(deadline(t), 1, nil)
	var lost *azeventhubs.Error
	if !errors.As(err, &lost) || lost.Code != azeventhubs.ErrorCodeOwnershipLost {
		t.Errorf("got %v, want ownership lost", err)
	}
}

// sequences receives n events and returns their sequence numbers as text.
func sequences(t *testing.T, p *azeventhubs.PartitionClient, n int) string {
	t.Helper()
	var all []string
	for _, e := range receive(t, p, n) {
		all = append(all, fmt.Sprint(e.SequenceNumber))
	}
	return strings.Join(all, " ")
}

func TestTransfersAreControlled(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 6)
	publish(t, s, "1", 6)
	// First in, first out: the first function takes event 1, then the second
	// one event 2; the third is for another partition.
	inject(t, s, eventhubs.Fault{Op: eventhubs.OpTransfer, Partition: "0", After: 1, Action: eventhubs.Drop, Times: 1})
	inject(t, s, eventhubs.Fault{Op: eventhubs.OpTransfer, Partition: "0", After: 1, Action: eventhubs.Repeat, Times: 1})
	inject(t, s, eventhubs.Fault{Op: eventhubs.OpTransfer, Partition: "9", Action: eventhubs.Drop})
	replaced := s.Control(eventhubs.OpTransfer, func(call *eventhubs.Call) (eventhubs.Verdict, bool) {
		if call.Sequence != 4 || call.Partition != "0" {
			return eventhubs.Verdict{}, false
		}
		event := append([]byte(nil), call.Event...)
		copy(event[len(event)-3:], "0-X")
		return eventhubs.Verdict{Action: eventhubs.Replace, Event: event}, true
	})
	defer replaced.Remove()
	c := newConsumer(t, s)
	p := newPartition(t, c, "0", nil)
	if got, want := sequences(t, p, 4), "0 2 2 3"; got != want {
		t.Errorf("got events %s, want %s", got, want)
	}
	if got := string(receive(t, p, 1)[0].Body); got != "0-X" {
		t.Errorf("event 4 is %q, want 0-X", got)
	}
	if got, want := sequences(t, newPartition(t, c, "1", nil), 6), "0 1 2 3 4 5"; got != want {
		t.Errorf("another partition: got events %s, want %s", got, want)
	}
}

func TestRewindAndGaps(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 5)
	c := newConsumer(t, s)
	p := newPartition(t, c, "0", nil)
	receive(t, p, 5)
	if err := s.Rewind(testHub, "0", 2); err != nil {
		t.Fatal(err)
	}
	if err := s.SkipSequence(testHub, "0", 3); err != nil {
		t.Fatal(err)
	}
	publish(t, s, "0", 2)
	if got, want := sequences(t, p, 4), "3 4 8 9"; got != want {
		t.Errorf("got events %s, want %s", got, want)
	}
	if got, want := sequences(t, newPartition(t, c, "0", nil), 7), "0 1 2 3 4 8 9"; got != want {
		t.Errorf("from the start: got events %s, want %s", got, want)
	}
	inGap := newPartition(t, c, "0", &azeventhubs.PartitionClientOptions{StartPosition: azeventhubs.StartPosition{SequenceNumber: to(int64(6))}})
	if got, want := sequences(t, inGap, 2), "8 9"; got != want {
		t.Errorf("from within the gap: got events %s, want %s", got, want)
	}
}

func TestSquatterHoldsPartition(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 1)
	p := newPartition(t, newConsumer(t, s), "0", ownerLevel(0))
	receive(t, p, 1)
	release, err := s.Squat(testHub, "$default", "0", 7)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := s.Receivers(testHub, "0"); err != nil || fmt.Sprint(names) != "[phantom]" {
		t.Errorf("receivers are %v, error %v", names, err)
	}
	_, err = p.ReceiveEvents(deadline(t), 1, nil)
	var lost *azeventhubs.Error
	if !errors.As(err, &lost) || lost.Code != azeventhubs.ErrorCodeOwnershipLost {
		t.Errorf("victim got %v, want ownership lost", err)
	}
	late := newPartition(t, newConsumer(t, s), "0", ownerLevel(0))
	if _, err := late.ReceiveEvents(deadline(t), 1, nil); err == nil || !strings.Contains(err.Error(), "Receiver 'phantom' with a higher epoch '7' already exists") {
		t.Errorf("latecomer got %v", err)
	}
	release()
	receive(t, newPartition(t, newConsumer(t, s), "0", ownerLevel(0)), 1)
}

func TestSendsAreControlled(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault eventhubs.Fault
		fails bool
		want  int64 // events in the hub
	}{
		{"server busy once", eventhubs.Fault{Action: eventhubs.Refuse, Condition: "com.microsoft:server-busy", Times: 1}, false, 1},
		{"resource limit", eventhubs.Fault{Action: eventhubs.Refuse, Condition: "amqp:resource-limit-exceeded"}, true, 0},
		{"no answer", eventhubs.Fault{Action: eventhubs.Drop}, true, 0},
		{"taken without answer", eventhubs.Fault{Action: eventhubs.Mute}, true, 1},
		{"taken twice", eventhubs.Fault{Action: eventhubs.Repeat}, false, 2},
		{"connection reset once", eventhubs.Fault{Action: eventhubs.ResetConnection, Times: 1}, false, 1},
		{"delayed", eventhubs.Fault{Delay: 20 * time.Millisecond}, false, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t)
			test.fault.Op = eventhubs.OpSend
			test.fault.Hub = testHub
			inject(t, s, test.fault)
			p, err := azeventhubs.NewProducerClientFromConnectionString(s.ConnectionString(), testHub, &azeventhubs.ProducerClientOptions{
				RetryOptions: azeventhubs.RetryOptions{MaxRetries: 2, RetryDelay: time.Millisecond, MaxRetryDelay: time.Millisecond}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close(background()) })
			batch, err := p.NewEventDataBatch(deadline(t), &azeventhubs.EventDataBatchOptions{PartitionID: to("0")})
			if err != nil {
				t.Fatal(err)
			}
			if err := batch.AddEventData(body("x"), nil); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if test.fails {
				ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
			}
			defer cancel()
			if err := p.SendEventDataBatch(ctx, batch, nil); (err != nil) != test.fails {
				t.Errorf("send: %v", err)
			}
			info, err := s.PartitionInfo(testHub, "0")
			if err != nil {
				t.Fatal(err)
			}
			if got := info.LastSequence + 1; got != test.want {
				t.Errorf("%d events in the hub, want %d", got, test.want)
			}
		})
	}
}

func TestRequestsAreControlled(t *testing.T) {
	s := newServer(t)
	c := newConsumer(t, s)
	inject(t, s, eventhubs.Fault{Op: eventhubs.OpManagement, Action: eventhubs.Refuse, Status: 404, Description: "gone", Times: 1})
	if _, err := c.GetEventHubProperties(deadline(t), nil); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v, want status 404", err)
	}
	inject(t, s, eventhubs.Fault{Op: eventhubs.OpManagement, Delay: 50 * time.Millisecond, Times: 1})
	begin := time.Now()
	if _, err := c.GetEventHubProperties(deadline(t), nil); err != nil || time.Since(begin) < 50*time.Millisecond {
		t.Errorf("took %v, error %v, want a delay of 50ms", time.Since(begin), err)
	}
	inject(t, s, eventhubs.Fault{Op: eventhubs.OpManagement, Action: eventhubs.Drop, Times: 1})
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.GetEventHubProperties(short, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want no answer before the deadline", err)
	}
	// An answer with a field missing.
	half := s.Control(eventhubs.OpManagement, func(call *eventhubs.Call) (eventhubs.Verdict, bool) {
		call.Keep()
		return eventhubs.Verdict{Action: eventhubs.Replace, Value: amqp.Map{{Key: "name", Value: call.Hub}}}, call.Type == "com.microsoft:eventhub"
	})
	if _, err := c.GetEventHubProperties(deadline(t), nil); err == nil || !strings.Contains(err.Error(), "partition_ids") {
		t.Errorf("got %v, want a complaint about partition_ids", err)
	}
	half.Remove()
	inject(t, s, eventhubs.Fault{Op: eventhubs.OpCBS, Action: eventhubs.Refuse, Status: 401, Description: "no"})
	publish(t, s, "0", 1)
	_, err := newPartition(t, newConsumer(t, s), "0", nil).ReceiveEvents(deadline(t), 1, nil)
	var unauthorized *azeventhubs.Error
	if !errors.As(err, &unauthorized) || unauthorized.Code != azeventhubs.ErrorCodeUnauthorizedAccess {
		t.Errorf("got %v, want unauthorized", err)
	}
}

// The client's own 60 s limit is too long for a test; its idle timeout is what
// the server would have to keep.
func TestHeartbeatsAreControlled(t *testing.T) {
	s := newServer(t)
	beats := make(chan string, 10)
	c := s.Control(eventhubs.OpHeartbeat, func(call *eventhubs.Call) (eventhubs.Verdict, bool) {
		call.Keep()
		select {
		case beats <- call.Remote:
		default:
		}
		return eventhubs.Verdict{Action: eventhubs.ResetConnection}, true
	})
	defer c.Remove()
	client := openRaw(t, s.Addr(), 40)
	select {
	case remote := <-beats:
		if remote != client.conn.LocalAddr().String() {
			t.Errorf("heartbeat for %s, want %s", remote, client.conn.LocalAddr())
		}
	case <-time.After(5 * time.Second):
		t.Fatal("no heartbeat")
	}
	eventually(t, "the connection is reset", func() bool { return s.Connections() == 0 })
}

func TestFaultsAreValidated(t *testing.T) {
	s := newServer(t)
	for _, f := range []eventhubs.Fault{
		{},
		{Op: "explode"},
		{Op: eventhubs.OpSend, Action: "explode"},
		{Op: eventhubs.OpTransfer, Action: eventhubs.Replace},
		{Op: eventhubs.OpSend, Probability: 1.5},
		{Op: eventhubs.OpSend, Times: -1},
	} {
		if _, err := s.Inject(f); err == nil {
			t.Errorf("%+v was installed", f)
		}
	}
}

func TestFaultAsJSON(t *testing.T) {
	want := eventhubs.Fault{Op: eventhubs.OpAttach, Hub: testHub, Action: eventhubs.Refuse, Condition: "com.microsoft:server-busy",
		Delay: 250 * time.Millisecond, For: 3 * time.Second, Times: 2}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"op":"attach","hub":"fleet","action":"refuse","condition":"com.microsoft:server-busy","times":2,"delay":"250ms","for":"3s"}`
	if string(b) != text {
		t.Errorf("got %s, want %s", b, text)
	}
	var got eventhubs.Fault
	if err := json.Unmarshal(b, &got); err != nil || got != want {
		t.Errorf("came back as %+v, error %v", got, err)
	}
	for _, wrong := range []string{`{"op":"send","delay":"soon"}`, `{"op":"send","color":"red"}`} {
		if err := json.Unmarshal([]byte(wrong), &got); err == nil {
			t.Errorf("%s was read as %+v", wrong, got)
		}
	}
}

func TestFaultForATime(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 1)
	inject(t, s, eventhubs.Fault{Op: eventhubs.OpAccept, Action: eventhubs.Drop, For: 100 * time.Millisecond})
	c := newConsumerWith(t, s, "$Default", &azeventhubs.ConsumerClientOptions{
		RetryOptions: azeventhubs.RetryOptions{MaxRetries: 50, RetryDelay: 10 * time.Millisecond, MaxRetryDelay: 10 * time.Millisecond}})
	begin := time.Now()
	receive(t, newPartition(t, c, "0", nil), 1)
	if took := time.Since(begin); took < 100*time.Millisecond {
		t.Errorf("connected after %v, refused for 100ms", took)
	}
}

func TestSkewedClock(t *testing.T) {
	now := newClock()
	s := newServer(t, eventhubs.WithHub(testHub, 1), eventhubs.WithClock(now.now))
	s.SkewClock(-time.Hour)
	publish(t, s, "0", 1)
	if got, want := *receive(t, newPartition(t, newConsumer(t, s), "0", nil), 1)[0].EnqueuedTime, now.now().Add(-time.Hour); !got.Equal(want) {
		t.Errorf("enqueued at %v, want %v", got, want)
	}
}

func TestProbabilityIsSeeded(t *testing.T) {
	var runs []string
	for range 2 {
		s := newServer(t)
		publish(t, s, "0", 200)
		inject(t, s, eventhubs.Fault{Op: eventhubs.OpTransfer, Action: eventhubs.Drop, Probability: 0.5, Seed: 42})
		got := sequences(t, newPartition(t, newConsumer(t, s), "0", nil), 60)
		runs = append(runs, got)
	}
	if runs[0] != runs[1] || strings.HasPrefix(runs[0], "0 1 2 3 4 5 6 7 8 9 10 11") {
		t.Errorf("with one seed, got\n%s\n%s", runs[0], runs[1])
	}
}
