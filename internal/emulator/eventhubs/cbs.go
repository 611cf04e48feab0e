package eventhubs

import (
	"strings"

	"warmpath/internal/emulator/amqp"
)

// maxClaims bounds the tokens that one connection may hold.
const maxClaims = 10_000

// authorize answers a request to $cbs, claims-based security: the client puts a
// token for an entity before it opens a link to it, and again before the token
// expires.
func (p *peer) authorize(req *request) response {
	if operation := req.arguments.String("operation"); operation != "put-token" {
		return response{status: 400, description: "The operation '" + operation + "' is not supported."}
	}
	token, _ := req.value.(string)
	if token == "" {
		return response{status: 400, description: "The body must be the token, a string."}
	}
	granted, err := p.server.gate.admit(req.arguments.String("name"), token)
	if err != nil {
		p.server.config.logger.Debug("token refused", "audience", req.arguments.String("name"), "err", err)
		return response{status: 401, description: "Unauthorized access. The token is invalid or does not cover the audience."}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.claims) >= maxClaims {
		return response{status: 403, description: "Too many tokens on one connection."}
	}
	p.claims[granted.path] = granted
	return response{status: 202, description: "Accepted"}
}

// allowed tells whether the connection may attach to an entity.
func (p *peer) allowed(entity string) *amqp.Error {
	if p.conn.User() != "" || p.server.gate.open() {
		return nil
	}
	path := strings.ToLower(strings.Trim(entity, "/"))
	now := p.server.config.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.claims {
		if c.covers(path) && (c.expires.IsZero() || now.Before(c.expires)) {
			return nil
		}
	}
	return amqp.Errorf(amqp.UnauthorizedAccess, "Unauthorized access. A valid token for '%s' is required to perform this operation.", entity)
}
