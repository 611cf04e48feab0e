package cosmos

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// resource is what databases, containers and offers have in common.
type resource struct {
	id       string
	rid      string
	version  uint64
	modified int64
}

func (r *resource) etag() string {
	s := state{version: r.version, modified: r.modified}
	return s.etag()
}

// properties are the system properties of a resource.
type properties struct {
	RID  string `json:"_rid"`
	Self string `json:"_self"`
	ETag string `json:"_etag"`
	TS   int64  `json:"_ts"`
}

func (r *resource) properties(self string) properties {
	return properties{RID: r.rid, Self: self, ETag: r.etag(), TS: r.modified}
}

type database struct {
	resource   resource
	ridBytes   []byte
	containers map[string]*container
	nextRID    uint64
}

func (d *database) self() string { return "dbs/" + d.resource.rid + "/" }

// ErrExists is returned when a database or container is created twice.
var ErrExists = errors.New("resource exists already")

// errOwner is returned when the database of a container is missing.
var errOwner = errors.New("owner resource does not exist")

// CreateDatabase creates a database. It returns [ErrExists] if there is one of
// that name.
func (s *Server) CreateDatabase(id string) error {
	_, err := s.createDatabase(id)
	return err
}

func (s *Server) createDatabase(id string) (*database, error) {
	if err := checkID(id); err != nil {
		return nil, fmt.Errorf("database id: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.databases[id] != nil {
		return nil, fmt.Errorf("database %q: %w", id, ErrExists)
	}
	s.nextRID++
	n := s.nextRID
	d := &database{
		resource:   s.newResource(id),
		ridBytes:   []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)},
		containers: make(map[string]*container),
	}
	d.resource.rid = ridEncoding.EncodeToString(d.ridBytes)
	s.databases[id] = d
	return d, nil
}

func (s *Server) newResource(id string) resource {
	return resource{id: id, version: s.version.Add(1), modified: s.now().Unix()}
}

// CreateContainer creates a container, and its database if need be. It returns
// [ErrExists] if there is a container of that name.
func (s *Server) CreateContainer(database string, c Container) error {
	def, err := c.definition()
	if err != nil {
		return err
	}
	if err := s.CreateDatabase(database); err != nil && !errors.Is(err, ErrExists) {
		return err
	}
	_, err = s.createContainer(database, def, offer{manual: c.Throughput})
	return err
}

func (s *Server) createContainer(databaseID string, def *definition, o offer) (*container, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.databases[databaseID]
	if d == nil {
		return nil, fmt.Errorf("database %q: %w", databaseID, errOwner)
	}
	if d.containers[def.ID] != nil {
		return nil, fmt.Errorf("container %q: %w", def.ID, ErrExists)
	}
	d.nextRID++
	n := d.nextRID
	// The high bit of the fifth byte is how the service marks a container.
	ridBytes := append(slices.Clone(d.ridBytes), 0x80|byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	c := &container{server: s, resource: s.newResource(def.ID), ridBytes: ridBytes}
	c.resource.rid = ridEncoding.EncodeToString(ridBytes)
	c.self = d.self() + "colls/" + c.resource.rid + "/"
	c.def.Store(def)
	c.divide(s.ranges)
	if o == (offer{}) {
		o.manual = 400
	}
	c.offer = o
	c.offer.resource = s.newResource(offerID(ridBytes))
	c.offer.resource.rid = c.offer.resource.id
	d.containers[def.ID] = c
	return c, nil
}

// DeleteContainer deletes a container with its documents and its journal, and
// tells whether there was one.
func (s *Server) DeleteContainer(database, coll string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.databases[database]
	if d == nil || d.containers[coll] == nil {
		return false
	}
	delete(d.containers, coll)
	return true
}

// container finds a container, nil if there is none.
func (s *Server) container(databaseID, id string) *container {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if d := s.databases[databaseID]; d != nil {
		return d.containers[id]
	}
	return nil
}

// serveDatabases serves /dbs.
func (s *Server) serveDatabases(r *http.Request, body []byte) *reply {
	switch {
	case r.Method == http.MethodGet || isQuery(r):
		s.mu.RLock()
		defer s.mu.RUnlock()
		var list []any
		for _, id := range slices.Sorted(maps.Keys(s.databases)) {
			list = append(list, s.databases[id].served())
		}
		return queriedFeed(r, body, "", "Databases", list)
	case r.Method == http.MethodPost:
		var sent struct {
			ID string `json:"id"`
		}
		if err := decode(body, &sent); err != nil {
			return badRequest("database: " + err.Error())
		}
		d, err := s.createDatabase(sent.ID)
		if err != nil {
			return catalogFailure(err)
		}
		return metadata(http.StatusCreated, d.served(), d.resource.etag())
	}
	return unsupported(r)
}

func (d *database) served() any {
	return struct {
		ID string `json:"id"`
		properties
		Colls string `json:"_colls"`
		Users string `json:"_users"`
	}{d.resource.id, d.resource.properties(d.self()), "colls/", "users/"}
}

// serveDatabase serves /dbs/{id}.
func (s *Server) serveDatabase(r *http.Request, id string) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.databases[id]
	if d == nil {
		return notFound(0)
	}
	switch r.Method {
	case http.MethodGet:
		return metadata(http.StatusOK, d.served(), d.resource.etag())
	case http.MethodDelete:
		delete(s.databases, id)
		return &reply{status: http.StatusNoContent, charge: metadataCharge}
	}
	return unsupported(r)
}

// serveContainers serves /dbs/{id}/colls.
func (s *Server) serveContainers(r *http.Request, databaseID string, body []byte) *reply {
	switch {
	case r.Method == http.MethodGet || isQuery(r):
		s.mu.RLock()
		defer s.mu.RUnlock()
		d := s.databases[databaseID]
		if d == nil {
			return notFound(subOwnerMissing)
		}
		var list []any
		for _, c := range slices.SortedFunc(maps.Values(d.containers), func(a, b *container) int {
			return cmp.Compare(a.resource.id, b.resource.id)
		}) {
			list = append(list, c.served())
		}
		return queriedFeed(r, body, d.resource.rid, "DocumentCollections", list)
	case r.Method == http.MethodPost:
		def, err := parseDefinition(body)
		if err != nil {
			return badRequest(err.Error())
		}
		o, err := offerFromHeaders(r.Header)
		if err != nil {
			return badRequest(err.Error())
		}
		c, err := s.createContainer(databaseID, def, o)
		if err != nil {
			return catalogFailure(err)
		}
		s.mu.RLock()
		defer s.mu.RUnlock()
		return metadata(http.StatusCreated, c.served(), c.resource.etag())
	}
	return unsupported(r)
}

// served is a container as it is served. The caller holds the server's mutex.
func (c *container) served() any {
	return struct {
		definition
		properties
		Docs      string `json:"_docs"`
		Sprocs    string `json:"_sprocs"`
		Triggers  string `json:"_triggers"`
		UDFs      string `json:"_udfs"`
		Conflicts string `json:"_conflicts"`
	}{*c.def.Load(), c.resource.properties(c.self), "docs/", "sprocs/", "triggers/", "udfs/", "conflicts/"}
}

// serveContainer serves /dbs/{id}/colls/{id}.
func (s *Server) serveContainer(r *http.Request, databaseID, id string, body []byte) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.databases[databaseID]
	if d == nil {
		return notFound(subOwnerMissing)
	}
	c := d.containers[id]
	if c == nil {
		return notFound(subOwnerMissing)
	}
	switch r.Method {
	case http.MethodGet:
		return metadata(http.StatusOK, c.served(), c.resource.etag())
	case http.MethodDelete:
		delete(d.containers, id)
		return &reply{status: http.StatusNoContent, charge: metadataCharge}
	case http.MethodPut:
		if match := r.Header.Get(headerIfMatch); match != "" && match != "*" && match != c.resource.etag() {
			return failure(http.StatusPreconditionFailed, 0, messagePrecondition)
		}
		def, err := parseDefinition(body)
		if err != nil {
			return badRequest(err.Error())
		}
		if old := c.def.Load(); def.ID != old.ID || !def.PartitionKey.equal(old.PartitionKey) {
			return badRequest("the id and the partition key of a container cannot be changed")
		}
		c.def.Store(def)
		c.resource.version, c.resource.modified = s.version.Add(1), s.now().Unix()
		return metadata(http.StatusOK, c.served(), c.resource.etag())
	}
	return unsupported(r)
}

func (k PartitionKey) equal(other PartitionKey) bool {
	return k.Kind == other.Kind && max(k.Version, 1) == max(other.Version, 1) && slices.Equal(k.Paths, other.Paths)
}

func catalogFailure(err error) *reply {
	switch {
	case errors.Is(err, ErrExists):
		return failure(http.StatusConflict, 0, "Resource with specified id, name, or unique index already exists.")
	case errors.Is(err, errOwner):
		return notFound(subOwnerMissing)
	default:
		return badRequest(err.Error())
	}
}

// Now is the server's time, as timestamps show it.
func (s *Server) Now() time.Time { return s.now() }
