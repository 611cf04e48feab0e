package eventhubs

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"warmpath/internal/emulator/amqp"
)

// Op is a kind of operation that Control can interfere with.
type Op string

// The operations, and what the actions mean for them. Every operation knows
// Proceed, CloseConnection and ResetConnection, those of links DetachLink and
// EndSession.
const (
	// OpAccept is a client's TCP connection. Drop and Refuse close it.
	OpAccept Op = "accept"
	// OpOpen is the opening of an AMQP connection. Refuse closes it with the
	// error.
	OpOpen Op = "open"
	// OpAttach is a link to a hub, of a receiver or a sender. Drop never
	// answers, Refuse refuses with the error.
	OpAttach Op = "attach"
	// OpTransfer is an event about to be sent to a receiver that has credit.
	// Drop leaves it out, Hold keeps it and all after it back until the control
	// is removed, Repeat sends it twice, Replace sends other bytes.
	OpTransfer Op = "transfer"
	// OpSend is a client's message or batch. Drop forgets it and never answers,
	// Refuse rejects it with the error, Mute takes it but never answers, Repeat
	// takes it twice.
	OpSend Op = "send"
	// OpCBS and OpManagement are requests. Drop never answers, Refuse answers
	// with the status, Replace answers with another body.
	OpCBS        Op = "cbs"
	OpManagement Op = "management"
	// OpHeartbeat is a keep-alive about to be sent. Drop keeps it back.
	OpHeartbeat Op = "heartbeat"
)

// Action is what becomes of an operation.
type Action string

// The actions. One that makes no sense for an operation lets it proceed.
const (
	Proceed         Action = ""
	Drop            Action = "drop"
	Refuse          Action = "refuse"
	Hold            Action = "hold"
	Repeat          Action = "repeat"
	Replace         Action = "replace"
	Mute            Action = "mute"
	DetachLink      Action = "detach"
	EndSession      Action = "end"
	CloseConnection Action = "close"
	ResetConnection Action = "reset"
)

// Verdict says how an operation goes on. The zero Verdict lets it happen.
type Verdict struct {
	Action Action
	// Delay passes before the action.
	Delay time.Duration
	// Error is what Refuse, DetachLink, EndSession and CloseConnection tell.
	Error *amqp.Error
	// Status and Description are what Refuse answers to a request.
	Status      int32
	Description string
	// Event and Value are what Replace puts in the place of an event (a whole
	// encoded message) or of the body of an answer.
	Event []byte
	Value any
}

// Call is one operation under way. Fields that do not apply are zero.
type Call struct {
	Op         Op
	Remote     string // the client's network address
	Hub        string
	Group      string
	Partition  string
	Sender     bool   // OpAttach: the client wants to send
	Receiver   string // name
	OwnerLevel *int64
	Sequence   int64  // OpTransfer
	Event      []byte // OpTransfer: the encoded event; not to be changed
	Events     int    // OpSend: how many
	Audience   string // OpCBS
	Type       string // OpManagement: of the entity

	kept bool
}

// Keep lets the control function that is looking at the call have the calls
// after it, too.
func (c *Call) Keep() { c.kept = true }

// Control is an installed control function.
type Control struct {
	server *Server
	op     Op
	decide func(*Call) (Verdict, bool)
}

// controls holds the installed functions by operation. Looking is free of locks
// while there are none.
type controls struct {
	installed atomic.Int64

	mu   sync.Mutex // covers byOp; held while a function decides
	byOp map[Op][]*Control
}

// Control installs a function that decides about operations of a kind. Of
// several, the first installed is asked first; one that returns false leaves the
// call to the next. A function that has taken a call is removed, unless it
// called Keep. Functions are never called at the same time; they must not block
// and not install or remove others.
func (s *Server) Control(op Op, decide func(*Call) (Verdict, bool)) *Control {
	c := &Control{server: s, op: op, decide: decide}
	s.controls.mu.Lock()
	if s.controls.byOp == nil {
		s.controls.byOp = make(map[Op][]*Control)
	}
	s.controls.byOp[op] = append(s.controls.byOp[op], c)
	s.controls.installed.Add(1)
	s.controls.mu.Unlock()
	s.wakeReceivers()
	return c
}

// Remove takes the function away. What it holds back goes on.
func (c *Control) Remove() {
	c.server.controls.mu.Lock()
	c.server.controls.remove(c)
	c.server.controls.mu.Unlock()
	c.server.wakeReceivers()
}

func (cs *controls) remove(c *Control) {
	for i, have := range cs.byOp[c.op] {
		if have == c {
			cs.byOp[c.op] = append(cs.byOp[c.op][:i:i], cs.byOp[c.op][i+1:]...)
			cs.installed.Add(-1)
			return
		}
	}
}

// any tells whether any function is installed.
func (cs *controls) any() bool { return cs.installed.Load() > 0 }

// decide asks the functions in turn.
func (cs *controls) decide(call *Call) Verdict {
	if !cs.any() {
		return Verdict{}
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.byOp[call.Op] {
		call.kept = false
		verdict, taken := c.decide(call)
		if !taken {
			continue
		}
		if !call.kept {
			cs.remove(c)
		}
		return verdict
	}
	return Verdict{}
}

// await decides and lets the verdict's delay pass. ok is false if ctx ended
// first.
func (cs *controls) await(ctx context.Context, call *Call) (v Verdict, ok bool) {
	v = cs.decide(call)
	if v.Delay <= 0 {
		return v, ctx.Err() == nil
	}
	select {
	case <-time.After(v.Delay):
		return v, true
	case <-ctx.Done():
		return v, false
	}
}

// sever carries out the actions that end what carries an operation, and reports
// whether the verdict was one. link is nil where there is none.
func sever(v Verdict, conn *amqp.Conn, link *amqp.Link) bool {
	switch v.Action {
	case CloseConnection:
		conn.Close(v.Error)
	case ResetConnection:
		conn.Reset()
	case EndSession:
		if link == nil {
			return false
		}
		link.EndSession(v.Error)
	case DetachLink:
		if link == nil {
			return false
		}
		link.Detach(v.Error)
	default:
		return false
	}
	return true
}

// wakeReceivers makes all pumps look again.
func (s *Server) wakeReceivers() {
	for _, h := range s.allHubs() {
		for _, p := range h.all() {
			p.receivers.notify()
		}
	}
}

// hooks lets control functions decide about what the AMQP server does itself.
func (s *Server) hooks() amqp.Hooks {
	remote := func(c *amqp.Conn) string { return c.RemoteAddr().String() }
	return amqp.Hooks{
		Accept: func(c *amqp.Conn) error {
			v, ok := s.controls.await(c.Context(), &Call{Op: OpAccept, Remote: remote(c)})
			if sever(v, c, nil) || !ok || v.Action == Drop || v.Action == Refuse {
				return amqp.ErrClosed
			}
			return nil
		},
		Open: func(c *amqp.Conn) *amqp.Error {
			v, _ := s.controls.await(c.Context(), &Call{Op: OpOpen, Remote: remote(c)})
			if v.Action == Refuse || v.Action == CloseConnection {
				return orDefault(v.Error, amqp.ConnectionForced)
			}
			sever(v, c, nil)
			return nil
		},
		Heartbeat: func(c *amqp.Conn) bool {
			v := s.controls.decide(&Call{Op: OpHeartbeat, Remote: remote(c)})
			sever(v, c, nil)
			return v.Action != Drop
		},
	}
}

func orDefault(err *amqp.Error, condition amqp.Symbol) *amqp.Error {
	if err != nil {
		return err
	}
	return amqp.Errorf(condition, "as a control function said")
}
