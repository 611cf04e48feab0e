package eventhubs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	client "github.com/Azure/go-amqp"

	"warmpath/internal/emulator/amqp"
	"warmpath/internal/emulator/eventhubs"
)

// dial opens a session below the Event Hubs library, for what that library does
// not do.
func dial(t *testing.T, s *eventhubs.Server) *client.Session {
	t.Helper()
	return dialSession(t, dialConn(t, s))
}

func dialConn(t *testing.T, s *eventhubs.Server) *client.Conn {
	t.Helper()
	conn, err := client.Dial(deadline(t), "amqp://"+s.Addr(), &client.ConnOptions{SASLType: client.SASLTypeAnonymous()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func dialSession(t *testing.T, conn *client.Conn) *client.Session {
	t.Helper()
	session, err := conn.NewSession(deadline(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// request sends one to a node and returns the answer.
func request(t *testing.T, session *client.Session, node, replyTo string, arguments map[string]any, value any) *client.Message {
	t.Helper()
	sender, err := session.NewSender(deadline(t), node, nil)
	if err != nil {
		t.Fatal(err)
	}
	receiver, err := session.NewReceiver(deadline(t), node, &client.ReceiverOptions{TargetAddress: replyTo, Credit: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := &client.Message{
		Properties:            &client.MessageProperties{MessageID: "m-1", ReplyTo: &replyTo},
		ApplicationProperties: arguments,
		Value:                 value,
	}
	if err := sender.Send(deadline(t), m, nil); err != nil {
		t.Fatal(err)
	}
	answer, err := receiver.Receive(deadline(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Properties.CorrelationID != "m-1" {
		t.Errorf("correlation id is %v, want m-1", answer.Properties.CorrelationID)
	}
	_ = sender.Close(deadline(t))
	_ = receiver.Close(deadline(t))
	return answer
}

func TestRequestAnswers(t *testing.T) {
	s := newServer(t)
	session := dial(t, s)
	for _, test := range []struct {
		name, node string
		arguments  map[string]any
		value      any
		want       int32
	}{
		{"hub", "$management", map[string]any{"operation": "READ", "name": testHub, "type": "com.microsoft:eventhub"}, nil, 200},
		{"hub by its own node", testHub + "/$management", map[string]any{"operation": "READ", "name": "FLEET", "type": "com.microsoft:eventhub"}, nil, 200},
		{"partition", "$management", map[string]any{"operation": "READ", "name": testHub, "type": "com.microsoft:partition", "partition": "3"}, nil, 200},
		{"no such partition", "$management", map[string]any{"operation": "READ", "name": testHub, "type": "com.microsoft:partition", "partition": "4"}, nil, 404},
		{"no partition", "$management", map[string]any{"operation": "READ", "name": testHub, "type": "com.microsoft:partition"}, nil, 404},
		{"no such hub", "$management", map[string]any{"operation": "READ", "name": "other", "type": "com.microsoft:eventhub"}, nil, 404},
		{"unknown operation", "$management", map[string]any{"operation": "DELETE", "name": testHub, "type": "com.microsoft:eventhub"}, nil, 400},
		{"unknown type", "$management", map[string]any{"operation": "READ", "name": testHub, "type": "queue"}, nil, 400},
		{"token", "$cbs", map[string]any{"operation": "put-token", "type": "jwt", "name": "amqp://h/fleet"}, "token", 202},
		{"no token", "$cbs", map[string]any{"operation": "put-token", "type": "jwt", "name": "amqp://h/fleet"}, int32(5), 400},
		{"unknown claim operation", "$cbs", map[string]any{"operation": "get-token"}, "token", 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := request(t, session, test.node, "here", test.arguments, test.value)
			if got := answer.ApplicationProperties["status-code"]; got != test.want {
				t.Errorf("status %v %v, want %d", got, answer.ApplicationProperties["status-description"], test.want)
			}
			if got, _ := answer.ApplicationProperties["status-description"].(string); got == "" {
				t.Error("the status has no description")
			}
		})
	}
}

// Two pairs of links to one node get their own answers, also where only the
// link's name says which.
func TestAnswersFindTheirWay(t *testing.T) {
	conn := dialConn(t, newServer(t))
	session := dialSession(t, conn)
	sender, err := session.NewSender(deadline(t), "$management", nil)
	if err != nil {
		t.Fatal(err)
	}
	byTarget, err := session.NewReceiver(deadline(t), "$management", &client.ReceiverOptions{TargetAddress: "by-target"})
	if err != nil {
		t.Fatal(err)
	}
	// The right link is in another session, a wrong one in the request's.
	byName, err := dialSession(t, conn).NewReceiver(deadline(t), "$management", &client.ReceiverOptions{Name: "by-name"})
	if err != nil {
		t.Fatal(err)
	}
	for i, to := range []struct {
		replyTo  string
		receiver *client.Receiver
	}{{"by-target", byTarget}, {"by-name", byName}} {
		if err := sender.Send(deadline(t), &client.Message{
			Properties:            &client.MessageProperties{MessageID: uint64(i), ReplyTo: &to.replyTo},
			ApplicationProperties: map[string]any{"operation": "READ", "name": testHub, "type": "com.microsoft:eventhub"},
		}, nil); err != nil {
			t.Fatal(err)
		}
		answer, err := to.receiver.Receive(deadline(t), nil)
		if err != nil {
			t.Fatalf("%s: %v", to.replyTo, err)
		}
		if answer.Properties.CorrelationID != uint64(i) {
			t.Errorf("%s: correlation id is %v, want %d", to.replyTo, answer.Properties.CorrelationID, i)
		}
	}
}

func TestUnknownAddressesAreRefused(t *testing.T) {
	session := dial(t, newServer(t))
	for _, address := range []string{"", "other", "fleet/x", "fleet/ConsumerGroups/$Default", "fleet/Partitions/0/x", "messages/events"} {
		if _, err := session.NewSender(deadline(t), address, nil); err == nil {
			t.Errorf("a sender to %q was let in", address)
		}
		if _, err := session.NewReceiver(deadline(t), address, nil); err == nil {
			t.Errorf("a receiver from %q was let in", address)
		}
	}
	if _, err := session.NewReceiver(deadline(t), testHub, nil); err == nil {
		t.Error("a receiver from a hub was let in")
	}
}

func TestInvalidFilterIsRefused(t *testing.T) {
	session := dial(t, newServer(t))
	for _, filter := range []string{
		"x", "amqp.annotation.x-opt-offset = '1'", "amqp.annotation.x-opt-offset > 'abc'",
		"amqp.annotation.x-opt-sequence-number > 'abc'", "amqp.annotation.x-opt-color > '1'",
	} {
		_, err := session.NewReceiver(deadline(t), testHub+"/ConsumerGroups/$Default/Partitions/0", &client.ReceiverOptions{
			Filters: []client.LinkFilter{client.NewLinkFilter("apache.org:selector-filter:string", 0x0000468C00000004, filter)}})
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Condition != client.ErrCondInvalidField {
			t.Errorf("filter %q: got %v, want an invalid field", filter, err)
		}
	}
}

func TestSingleMessagesAndPublishers(t *testing.T) {
	s := newServer(t)
	session := dial(t, s)
	ctx := deadline(t)
	for _, address := range []string{testHub + "/Partitions/2", testHub + "/Publishers/drone-7", testHub + "/Publishers/drone-7"} {
		sender, err := session.NewSender(ctx, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := sender.MaxMessageSize(); got != 1<<20 {
			t.Errorf("maximum message size is %d", got)
		}
		if err := sender.Send(ctx, client.NewMessage([]byte(address)), nil); err != nil {
			t.Fatal(err)
		}
	}
	counts := map[string]int64{}
	for i := range 4 {
		info, err := s.PartitionInfo(testHub, fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		counts[fmt.Sprint(i)] = info.LastSequence + 1
	}
	if counts["2"] == 0 || counts["0"]+counts["1"]+counts["2"]+counts["3"] != 3 {
		t.Errorf("events per partition are %v", counts)
	}
}

// The key of a batch may stand on its envelope alone.
func TestKeyOfEnvelope(t *testing.T) {
	s := newServer(t)
	sender, err := dial(t, s).NewSender(deadline(t), testHub, nil)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := client.NewMessage([]byte("inner")).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	envelope := client.NewMessage(inner)
	envelope.Format = 0x80013700
	envelope.Annotations = client.Annotations{"x-opt-partition-key": "k"}
	for range 3 {
		if err := sender.Send(deadline(t), envelope, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		info, err := s.PartitionInfo(testHub, fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		if info.Empty {
			continue
		}
		for _, e := range receive(t, newPartition(t, newConsumer(t, s), fmt.Sprint(i), nil), 3) {
			if e.PartitionKey == nil || *e.PartitionKey != "k" {
				t.Errorf("event %d has partition key %v, want k", e.SequenceNumber, e.PartitionKey)
			}
		}
	}
}

// Credit that an empty partition cannot use is given back to a client that
// wants it.
func TestDrain(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 2)
	c := openRaw(t, s.Addr(), 0)
	c.receive(testHub + "/ConsumerGroups/$Default/Partitions/0")
	c.say(0, 0x13, uint32(1), uint32(100), uint32(0), uint32(100), uint32(0), uint32(0), uint32(5), nil, true)
	c.read()
	c.read()
	v, _, err := amqp.Decode(c.read()[8:])
	if err != nil {
		t.Fatal(err)
	}
	got := v.(amqp.Described)
	fields := got.Value.(amqp.List)
	if got.Descriptor != uint64(0x13) || fields[5] != uint32(5) || fields[6] != uint32(0) || fields[8] != true {
		t.Errorf("got %v, want a flow with delivery count 5, no credit, drain", got)
	}
}

func TestExpiredTokenIsNotTaken(t *testing.T) {
	now := newClock()
	s := newServer(t, eventhubs.WithHub(testHub, 1), eventhubs.WithClock(now.now), eventhubs.WithKey("name", "key"))
	session := dial(t, s)
	token := signature("amqp://h/"+testHub, "key", "name", now.now().Add(time.Minute))
	put := func() any {
		arguments := map[string]any{"operation": "put-token", "type": "servicebus.windows.net:sastoken", "name": "amqp://h/" + testHub}
		return request(t, session, "$cbs", "here", arguments, token).ApplicationProperties["status-code"]
	}
	if got := put(); got != int32(202) {
		t.Errorf("status %v, want 202", got)
	}
	if _, err := session.NewSender(deadline(t), testHub, nil); err != nil {
		t.Errorf("with a token: %v", err)
	}
	now.advance(2 * time.Minute)
	if got := put(); got != int32(401) {
		t.Errorf("expired: status %v, want 401", got)
	}
	if _, err := session.NewSender(deadline(t), testHub, nil); err == nil {
		t.Error("a link was attached by an expired token")
	}
}

func TestBrokenMessagesAreRejected(t *testing.T) {
	s := newServer(t)
	session := dial(t, s)
	sender, err := session.NewSender(deadline(t), testHub, nil)
	if err != nil {
		t.Fatal(err)
	}
	// A batch whose data is no message.
	m := client.NewMessage([]byte("not an encoded message"))
	m.Format = 0x80013700
	var refused *client.Error
	if err := sender.Send(deadline(t), m, nil); !errors.As(err, &refused) || refused.Condition != client.ErrCondDecodeError {
		t.Errorf("got %v, want a decode error", err)
	}
	for i := range 4 {
		if info, _ := s.PartitionInfo(testHub, fmt.Sprint(i)); !info.Empty {
			t.Errorf("partition %d has events", i)
		}
	}
	short, cancel := context.WithCancel(deadline(t))
	defer cancel()
	if err := sender.Send(short, client.NewMessage([]byte("fine")), nil); err != nil {
		t.Errorf("after a rejected message: %v", err)
	}
}
