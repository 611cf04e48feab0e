package eventhubs

import (
	"sync"

	"warmpath/internal/emulator/amqp"
)

// requestCredit is how many requests a client may have on the way per link, and
// maxReplies how many answers wait for a client that gives no credit.
const (
	requestCredit = 100
	maxReplies    = 1000
)

// request is one message to a request node.
type request struct {
	link       *amqp.Incoming
	properties amqp.Properties
	arguments  amqp.Map // application properties
	value      any      // of an amqp-value body
}

// response is what a request node says.
type response struct {
	status      int32
	description string
	value       any // body, or nil for none
}

// replyLink carries answers to the client.
type replyLink struct {
	link *amqp.Outgoing
	node string

	mu    sync.Mutex // covers queue
	queue [][]byte
}

// serveRequests serves a link on which requests to $cbs or $management come.
func (p *peer) serveRequests(link *amqp.Incoming, node string) {
	answer := p.manage
	if node == nodeCBS {
		answer = p.authorize
	}
	if link.Accept(amqp.Answer{}, requestCredit) != nil {
		return
	}
	for {
		d, err := link.Receive()
		if err != nil {
			return
		}
		req, err := parseRequest(d)
		if err != nil {
			d.Reject(amqp.Errorf(amqp.DecodeError, "%v", err))
			continue
		}
		d.Accept()
		v, ok := p.server.controls.await(link.Context(), req.call(node))
		if !ok || v.Action == Drop || sever(v, p.conn, &link.Link) {
			continue
		}
		r := answer(req)
		switch v.Action {
		case Refuse:
			r = response{status: v.Status, description: v.Description}
		case Replace:
			r.value = v.Value
		}
		p.reply(req, node, r)
	}
}

// call describes the request to control functions.
func (r *request) call(node string) *Call {
	call := &Call{Op: OpCBS, Remote: r.link.Conn().RemoteAddr().String()}
	if node == nodeCBS {
		call.Audience = r.arguments.String("name")
		return call
	}
	call.Op = OpManagement
	call.Hub = r.arguments.String("name")
	call.Partition = r.arguments.String("partition")
	call.Type = r.arguments.String("type")
	return call
}

func parseRequest(d *amqp.Delivery) (*request, error) {
	sections, err := amqp.SplitMessage(d.Payload)
	if err != nil {
		return nil, err
	}
	req := &request{link: d.Link()}
	if req.properties, err = amqp.DecodeProperties(sections.Properties); err != nil {
		return nil, err
	}
	if sections.ApplicationProperties != nil {
		if req.arguments, err = amqp.DecodeMap(sections.ApplicationProperties); err != nil {
			return nil, err
		}
	}
	if sections.Value != nil {
		if req.value, _, err = amqp.Decode(sections.Value); err != nil {
			return nil, err
		}
	}
	return req, nil
}

func (r *response) encode(correlation any) []byte {
	b := amqp.AppendProperties(nil, amqp.Properties{CorrelationID: correlation})
	w := amqp.OpenMapSection(b, amqp.SectionApplicationProperties)
	w.String("status-code", r.status)
	w.String("status-description", r.description)
	b = w.Close()
	if r.value == nil {
		return b
	}
	return amqp.AppendValue(b, r.value)
}

// reply sends an answer to where the request wants it.
func (p *peer) reply(req *request, node string, r response) {
	correlation := req.properties.CorrelationID
	if req.properties.MessageID != nil {
		correlation = req.properties.MessageID
	}
	to := p.replyLink(req, node)
	if to == nil {
		p.server.config.logger.Debug("request has nowhere to be answered", "node", node, "reply-to", req.properties.ReplyTo)
		return
	}
	to.mu.Lock()
	if len(to.queue) < maxReplies {
		to.queue = append(to.queue, r.encode(correlation))
	}
	to.mu.Unlock()
	to.link.Notify()
}

// replyLink finds the link for an answer: the one whose target address, or else
// whose name, is the reply-to; else the node's link in the request's session.
func (p *peer) replyLink(req *request, node string) *replyLink {
	p.mu.Lock()
	defer p.mu.Unlock()
	var byName, bySession *replyLink
	for r := range p.replies {
		attach := r.link.Attach()
		switch {
		case r.node != node:
		case req.properties.ReplyTo != "" && attach.TargetAddress == req.properties.ReplyTo:
			return r
		case req.properties.ReplyTo != "" && attach.Name == req.properties.ReplyTo:
			byName = r
		case r.link.Channel() == req.link.Channel():
			bySession = r
		}
	}
	if byName != nil {
		return byName
	}
	return bySession
}

// serveReplies serves a link on which the client receives answers.
func (p *peer) serveReplies(link *amqp.Outgoing, node string) {
	r := &replyLink{link: link, node: node}
	p.mu.Lock()
	p.replies[r] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.replies, r)
		p.mu.Unlock()
	}()
	if link.Accept(amqp.Answer{}) != nil {
		return
	}
	for {
		r.mu.Lock()
		r.queue = r.queue[link.Offer(r.queue...):]
		empty := len(r.queue) == 0
		r.mu.Unlock()
		if empty {
			link.Drained()
		}
		select {
		case <-link.Wake():
		case <-link.Context().Done():
			return
		}
	}
}
