package amqp

// Descriptor codes of the performatives (2.7), SASL frames (5.3.3), terminus
// types (3.5) and delivery states (3.4).
const (
	codeOpen        = 0x10
	codeBegin       = 0x11
	codeAttach      = 0x12
	codeFlow        = 0x13
	codeTransfer    = 0x14
	codeDisposition = 0x15
	codeDetach      = 0x16
	codeEnd         = 0x17
	codeClose       = 0x18
	codeError       = 0x1d

	codeAccepted = 0x24
	codeRejected = 0x25
	codeReleased = 0x26
	codeModified = 0x27

	codeSource      = 0x28
	codeTarget      = 0x29
	codeCoordinator = 0x30

	codeSASLMechanisms = 0x40
	codeSASLInit       = 0x41
	codeSASLOutcome    = 0x44
)

// Open is what a peer says of itself when a connection opens (2.7.1).
type Open struct {
	ContainerID  string
	Hostname     string
	MaxFrameSize uint32 // bytes; 4294967295 if the peer set none
	ChannelMax   uint16
	IdleTimeout  uint32 // milliseconds; 0 for none
	Properties   Map
}

func decodeOpen(f *fields) (o Open, err error) {
	o.ContainerID = f.string()
	o.Hostname = f.string()
	o.MaxFrameSize = f.uint(1<<32 - 1)
	channelMax, set := f.unsigned(16)
	if o.ChannelMax = uint16(channelMax); !set {
		o.ChannelMax = 1<<16 - 1
	}
	o.IdleTimeout = f.uint(0)
	f.raw() // outgoing locales
	f.raw() // incoming locales
	f.raw() // offered capabilities
	f.raw() // desired capabilities
	o.Properties = f.mapping()
	return o, f.err
}

func (o *Open) appendTo(b []byte) []byte {
	w := openComposite(b, codeOpen)
	w.string(o.ContainerID)
	if o.Hostname == "" {
		w.null()
	} else {
		w.string(o.Hostname)
	}
	w.uint(o.MaxFrameSize)
	w.value(o.ChannelMax)
	if o.IdleTimeout > 0 {
		w.uint(o.IdleTimeout)
	}
	return w.close()
}

// begin is 2.7.2.
type begin struct {
	remoteChannel  uint16
	answers        bool // whether remoteChannel is set
	nextOutgoingID uint32
	incomingWindow uint32
	outgoingWindow uint32
	handleMax      uint32
}

func decodeBegin(f *fields) (p begin, err error) {
	remote, set := f.unsigned(16)
	p.remoteChannel, p.answers = uint16(remote), set
	p.nextOutgoingID = f.uint(0)
	p.incomingWindow = f.uint(0)
	p.outgoingWindow = f.uint(0)
	p.handleMax = f.uint(1<<32 - 1)
	return p, f.err
}

func (p *begin) appendTo(b []byte) []byte {
	w := openComposite(b, codeBegin)
	w.value(p.remoteChannel)
	w.uint(p.nextOutgoingID)
	w.uint(p.incomingWindow)
	w.uint(p.outgoingWindow)
	w.uint(p.handleMax)
	return w.close()
}

// Settlement modes of the two ends of a link (2.8.2, 2.8.3).
const (
	SenderUnsettled uint8 = 0
	SenderSettled   uint8 = 1
	SenderMixed     uint8 = 2
	ReceiverFirst   uint8 = 0
	ReceiverSecond  uint8 = 1
)

// Attach is a peer's wish for a link (2.7.3).
type Attach struct {
	Name         string
	Handle       uint32
	PeerReceives bool // the peer's role is receiver: the link is Outgoing here

	SenderSettleMode   uint8
	ReceiverSettleMode uint8

	// SourceAddress and TargetAddress are empty if the terminus is absent or
	// has none. Filter is the source's filter set.
	SourceAddress string
	TargetAddress string
	Filter        Map

	InitialDeliveryCount uint32
	MaxMessageSize       uint64 // bytes; 0 for no limit
	DesiredCapabilities  []Symbol
	Properties           Map

	// source and target are echoed as the peer encoded them.
	source, target []byte
	transactional  bool
	dynamic        bool
}

func decodeAttach(f *fields) (a *Attach, err error) {
	a = &Attach{}
	a.Name = f.string()
	a.Handle = f.uint(0)
	a.PeerReceives = f.bool()
	a.SenderSettleMode = SenderMixed
	if v, set := f.unsigned(8); set {
		a.SenderSettleMode = uint8(v)
	}
	if v, set := f.unsigned(8); set {
		a.ReceiverSettleMode = uint8(v)
	}
	a.source = append([]byte(nil), f.raw()...)
	a.target = append([]byte(nil), f.raw()...)
	f.raw() // unsettled: links are not resumed
	f.raw() // incomplete unsettled
	a.InitialDeliveryCount = f.uint(0)
	a.MaxMessageSize, _ = f.unsigned(64)
	f.raw() // offered capabilities
	a.DesiredCapabilities = f.symbols()
	a.Properties = f.mapping()
	if f.err != nil {
		return nil, f.err
	}
	if err := a.decodeSource(); err != nil {
		return nil, err
	}
	return a, a.decodeTarget()
}

func (a *Attach) decodeSource() error {
	f, err := openFields(a.source, codeSource)
	if err != nil || f == nil {
		return err
	}
	a.SourceAddress = f.string()
	f.raw() // durable
	f.raw() // expiry policy
	f.raw() // timeout
	a.dynamic = f.bool()
	f.raw() // dynamic node properties
	f.raw() // distribution mode
	a.Filter = f.mapping()
	return f.err
}

func (a *Attach) decodeTarget() error {
	d := decoder{a.target}
	if code, err := d.descriptor(); err == nil && code == codeCoordinator {
		a.transactional = true
		return nil
	}
	f, err := openFields(a.target, codeTarget)
	if err != nil || f == nil {
		return err
	}
	a.TargetAddress = f.string()
	f.raw() // durable
	f.raw() // expiry policy
	f.raw() // timeout
	a.dynamic = a.dynamic || f.bool()
	return f.err
}

// appendAnswer appends the attach that answers a. A refusal has neither source
// nor target; a detach follows it (2.6.3).
func (a *Attach) appendAnswer(b []byte, answer Answer, refused bool) []byte {
	w := openComposite(b, codeAttach)
	w.string(a.Name)
	w.uint(a.Handle)
	w.bool(!a.PeerReceives)
	senderMode := a.SenderSettleMode
	if a.PeerReceives {
		senderMode = SenderSettled
	}
	w.ubyte(senderMode)
	w.ubyte(a.ReceiverSettleMode)
	for _, terminus := range [][]byte{a.source, a.target} {
		if refused || len(terminus) == 0 {
			w.null()
		} else {
			w.raw(terminus)
		}
	}
	w.null() // unsettled
	w.null() // incomplete unsettled
	if a.PeerReceives {
		w.uint(0)
	} else {
		w.null()
	}
	if answer.MaxMessageSize > 0 {
		w.value(answer.MaxMessageSize)
	} else {
		w.null()
	}
	w.symbols(answer.OfferedCapabilities)
	w.null() // desired capabilities
	if len(answer.Properties) > 0 {
		w.value(answer.Properties)
	}
	return w.close()
}

// flow is 2.7.4.
type flow struct {
	nextIncomingID    uint32
	nextIncomingIDSet bool
	incomingWindow    uint32
	nextOutgoingID    uint32
	outgoingWindow    uint32
	handle            uint32
	handleSet         bool
	deliveryCount     uint32
	deliveryCountSet  bool
	linkCredit        uint32
	linkCreditSet     bool
	drain             bool
	echo              bool
}

func decodeFlow(f *fields) (p flow, err error) {
	optional := func() (uint32, bool) {
		v, set := f.unsigned(32)
		return uint32(v), set
	}
	p.nextIncomingID, p.nextIncomingIDSet = optional()
	p.incomingWindow = f.uint(0)
	p.nextOutgoingID = f.uint(0)
	p.outgoingWindow = f.uint(0)
	p.handle, p.handleSet = optional()
	p.deliveryCount, p.deliveryCountSet = optional()
	p.linkCredit, p.linkCreditSet = optional()
	f.raw() // available
	p.drain = f.bool()
	p.echo = f.bool()
	return p, f.err
}

func (p *flow) appendTo(b []byte) []byte {
	w := openComposite(b, codeFlow)
	w.uint(p.nextIncomingID)
	w.uint(p.incomingWindow)
	w.uint(p.nextOutgoingID)
	w.uint(p.outgoingWindow)
	if p.handleSet {
		w.uint(p.handle)
		w.uint(p.deliveryCount)
		w.uint(p.linkCredit)
		w.null() // available
		w.optional(p.drain)
	}
	return w.close()
}

// transfer is 2.7.5; the payload follows the performative.
type transfer struct {
	handle        uint32
	deliveryID    uint32
	deliveryIDSet bool
	format        uint32
	settled       bool
	more          bool
	aborted       bool
}

func decodeTransfer(f *fields) (p transfer, err error) {
	p.handle = f.uint(0)
	id, set := f.unsigned(32)
	p.deliveryID, p.deliveryIDSet = uint32(id), set
	f.binary() // delivery tag
	p.format = f.uint(0)
	p.settled = f.bool()
	p.more = f.bool()
	f.raw() // receiver settle mode
	f.raw() // state
	f.raw() // resume
	p.aborted = f.bool()
	return p, f.err
}

// detach is 2.7.7.
type detach struct {
	handle uint32
	closed bool
	err    *Error
}

func decodeDetach(f *fields) (p detach, err error) {
	p.handle = f.uint(0)
	p.closed = f.bool()
	raw := f.raw()
	if f.err != nil {
		return p, f.err
	}
	p.err, err = decodeError(raw)
	return p, err
}

func (p *detach) appendTo(b []byte) []byte {
	w := openComposite(b, codeDetach)
	w.uint(p.handle)
	w.optional(p.closed)
	if p.err != nil {
		w.item()
		w.b = p.err.appendTo(w.b)
	}
	return w.close()
}

// appendEnding appends an end or a close (2.7.8, 2.7.9).
func appendEnding(b []byte, code byte, err *Error) []byte {
	w := openComposite(b, code)
	if err != nil {
		w.item()
		w.b = err.appendTo(w.b)
	}
	return w.close()
}

func decodeEnding(f *fields) (*Error, error) {
	raw := f.raw()
	if f.err != nil {
		return nil, f.err
	}
	return decodeError(raw)
}

// appendDisposition appends the settled outcome of one delivery (2.7.6), as the
// receiver of the delivery says it.
func appendDisposition(b []byte, id uint32, state byte, err *Error) []byte {
	w := openComposite(b, codeDisposition)
	w.bool(true)
	w.uint(id)
	w.null() // last: the same
	w.bool(true)
	w.item()
	s := openComposite(w.b, state)
	if state == codeRejected && err != nil {
		s.item()
		s.b = err.appendTo(s.b)
	}
	w.b = s.close()
	return w.close()
}
