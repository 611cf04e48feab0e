package cosmos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// offer is the provisioned throughput of a container: what clients set and are
// told. What a range is really allowed is set by [WithRUPerRange].
type offer struct {
	resource     resource
	manual       int // request units a second; 0 with autoscale
	autoscaleMax int
}

// offerID names the offer of a container. It has no upper-case letters, as
// clients sign it in lower case.
func offerID(containerRID []byte) string {
	return fmt.Sprintf("%x", containerRID)[8:]
}

func offerFromHeaders(h http.Header) (offer, error) {
	var o offer
	if v := h.Get(headerOfferThroughput); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 400 {
			return o, fmt.Errorf("offer throughput %q: want at least 400", v)
		}
		o.manual = n
	}
	if v := h.Get(headerOfferAutoscale); v != "" {
		var sent autoscale
		if err := json.Unmarshal([]byte(v), &sent); err != nil || sent.Max < 1000 {
			return o, fmt.Errorf("autoscale settings %q: want maxThroughput of at least 1000", v)
		}
		o.autoscaleMax = sent.Max
	}
	return o, nil
}

type autoscale struct {
	Max int `json:"maxThroughput"`
}

type offerContent struct {
	Throughput int        `json:"offerThroughput,omitempty"`
	Autoscale  *autoscale `json:"offerAutopilotSettings,omitempty"`
}

// servedOffer is the offer as it is served.
func (c *container) servedOffer() any {
	content := offerContent{Throughput: c.offer.manual}
	if c.offer.autoscaleMax > 0 {
		content.Autoscale = &autoscale{c.offer.autoscaleMax}
	}
	return struct {
		ID string `json:"id"`
		properties
		Version    string       `json:"offerVersion"`
		Type       string       `json:"offerType"`
		Content    offerContent `json:"content"`
		Resource   string       `json:"resource"`
		ResourceID string       `json:"offerResourceId"`
	}{c.offer.resource.id, c.offer.resource.properties("offers/" + c.offer.resource.id + "/"), "V2", "Invalid", content, c.self, c.resource.rid}
}

// serveOffers serves /offers. Clients find the offer of a container by a query
// for its resource id or its self link.
func (s *Server) serveOffers(r *http.Request, body []byte) *reply {
	if r.Method != http.MethodGet && !isQuery(r) {
		return unsupported(r)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var list []any
	for _, c := range s.everyContainer() {
		c.mu.Lock()
		list = append(list, c.servedOffer())
		c.mu.Unlock()
	}
	return queriedFeed(r, body, "", "Offers", list)
}

// everyContainer lists all containers. The caller holds s.mu.
func (s *Server) everyContainer() []*container {
	var list []*container
	for _, d := range s.databases {
		for _, c := range d.containers {
			list = append(list, c)
		}
	}
	return list
}

// serveOffer serves /offers/{id}.
func (s *Server) serveOffer(r *http.Request, id string, body []byte) *reply {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range s.everyContainer() {
		if c.offer.resource.id != id {
			continue
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		switch r.Method {
		case http.MethodGet:
		case http.MethodPut:
			var sent struct {
				Content offerContent `json:"content"`
			}
			if err := decode(body, &sent); err != nil {
				return badRequest("offer: " + err.Error())
			}
			c.offer.manual, c.offer.autoscaleMax = sent.Content.Throughput, 0
			if sent.Content.Autoscale != nil {
				c.offer.manual, c.offer.autoscaleMax = 0, sent.Content.Autoscale.Max
			}
			c.offer.resource.version, c.offer.resource.modified = s.version.Add(1), s.now().Unix()
		default:
			return unsupported(r)
		}
		return metadata(http.StatusOK, c.servedOffer(), c.offer.resource.etag())
	}
	return notFound(0)
}
