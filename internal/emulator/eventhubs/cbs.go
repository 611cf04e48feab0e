package eventhubs

// authorize answers a request to $cbs, claims-based security: the client puts a
// token for an entity before it opens a link to it.
func (p *peer) authorize(req *request) response {
	if operation := req.arguments.String("operation"); operation != "put-token" {
		return response{status: 400, description: "unknown operation '" + operation + "'"}
	}
	if token, _ := req.value.(string); token == "" {
		return response{status: 400, description: "the body must be the token, a string"}
	}
	return response{status: 202, description: "Accepted"}
}
