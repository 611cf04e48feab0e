package cosmos

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"warmpath/internal/emulator/cosmos/epk"
)

// PartitionKey describes how a container is partitioned.
type PartitionKey struct {
	Paths   []string `json:"paths"`             // such as /deviceId; one, or up to three for MultiHash
	Kind    string   `json:"kind"`              // Hash or MultiHash
	Version int      `json:"version,omitempty"` // 2; without one the service takes 1
}

// Container is what a new container is made from.
type Container struct {
	ID           string
	PartitionKey PartitionKey
	// DefaultTTL is the time to live in seconds: 0 switches it off, -1 means
	// that only documents with a ttl of their own expire.
	DefaultTTL int
	// IndexingPolicy is JSON as the service takes it; empty is the default
	// policy, which indexes everything.
	IndexingPolicy json.RawMessage
	// Throughput is the provisioned throughput that clients are told; 0 is 400.
	Throughput int
}

// definition is the part of a container that a client sends and can replace. A
// value is immutable once made.
type definition struct {
	ID                string          `json:"id"`
	IndexingPolicy    json.RawMessage `json:"indexingPolicy"`
	PartitionKey      PartitionKey    `json:"partitionKey"`
	DefaultTTL        *int            `json:"defaultTtl,omitempty"`
	UniqueKeyPolicy   json.RawMessage `json:"uniqueKeyPolicy,omitempty"`
	ConflictPolicy    json.RawMessage `json:"conflictResolutionPolicy"`
	GeospatialConfig  json.RawMessage `json:"geospatialConfig"`
	AnalyticalTTL     json.RawMessage `json:"analyticalStorageTtl,omitempty"`
	VectorPolicy      json.RawMessage `json:"vectorEmbeddingPolicy,omitempty"`
	FullTextPolicy    json.RawMessage `json:"fullTextPolicy,omitempty"`
	ComputedProps     json.RawMessage `json:"computedProperties,omitempty"`
	ChangeFeedPolicy  json.RawMessage `json:"changeFeedPolicy,omitempty"`
	ClientEncryption  json.RawMessage `json:"clientEncryptionPolicy,omitempty"`
	keyPaths          [][]string
	index             indexPolicy
	shape             *shape
	defaultExpiration int // seconds: 0 off, -1 only by the document's own ttl
}

const (
	kindHash      = "Hash"
	kindMultiHash = "MultiHash"

	defaultIndexingPolicy = `{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]}`
	defaultConflictPolicy = `{"mode":"LastWriterWins","conflictResolutionPath":"/_ts","conflictResolutionProcedure":""}`
	defaultGeospatial     = `{"type":"Geography"}`
)

// parseDefinition reads a container as a client sends it and fills in what the
// service would.
func parseDefinition(body []byte) (*definition, error) {
	def := &definition{}
	if err := decode(body, def); err != nil {
		return nil, fmt.Errorf("container definition: %w", err)
	}
	return def.complete()
}

func (c Container) definition() (*definition, error) {
	def := &definition{ID: c.ID, PartitionKey: c.PartitionKey, IndexingPolicy: c.IndexingPolicy}
	if c.DefaultTTL != 0 {
		def.DefaultTTL = &c.DefaultTTL
	}
	return def.complete()
}

func (d *definition) complete() (*definition, error) {
	if err := checkID(d.ID); err != nil {
		return nil, fmt.Errorf("container id: %w", err)
	}
	if err := d.completeKey(); err != nil {
		return nil, err
	}
	if d.DefaultTTL != nil {
		if *d.DefaultTTL != -1 && (*d.DefaultTTL < 1 || *d.DefaultTTL > maxTTL) {
			return nil, fmt.Errorf("defaultTtl %d: want -1 or 1 to %d", *d.DefaultTTL, maxTTL)
		}
		d.defaultExpiration = *d.DefaultTTL
	}
	setDefault(&d.IndexingPolicy, defaultIndexingPolicy)
	setDefault(&d.ConflictPolicy, defaultConflictPolicy)
	setDefault(&d.GeospatialConfig, defaultGeospatial)
	if err := d.refuseUnsupported(); err != nil {
		return nil, err
	}
	index, err := parseIndexPolicy(d.IndexingPolicy)
	if err != nil {
		return nil, err
	}
	d.index = index
	d.shape = newShape(d)
	return d, nil
}

// refuseUnsupported refuses what would change how documents are treated and is
// not done here. Other policies are echoed: they concern several regions, the
// change feed or analytical storage.
func (d *definition) refuseUnsupported() error {
	var unique struct {
		Keys []json.RawMessage `json:"uniqueKeys"`
	}
	var computed []json.RawMessage
	if len(d.UniqueKeyPolicy) > 0 {
		if err := decode(d.UniqueKeyPolicy, &unique); err != nil {
			return fmt.Errorf("unique key policy: %w", err)
		}
	}
	if len(d.ComputedProps) > 0 {
		if err := decode(d.ComputedProps, &computed); err != nil {
			return fmt.Errorf("computed properties: %w", err)
		}
	}
	if len(unique.Keys) > 0 || len(computed) > 0 {
		return errors.New("unique keys and computed properties are not supported by this server")
	}
	return nil
}

func setDefault(m *json.RawMessage, value string) {
	if len(*m) == 0 || string(*m) == "null" {
		*m = json.RawMessage(value)
	}
}

func (d *definition) completeKey() error {
	pk := &d.PartitionKey
	if pk.Kind == "" {
		pk.Kind = kindHash
	}
	switch {
	case pk.Kind != kindHash && pk.Kind != kindMultiHash:
		return fmt.Errorf("partition key kind %q: want %s or %s", pk.Kind, kindHash, kindMultiHash)
	case pk.Kind == kindHash && len(pk.Paths) != 1:
		return fmt.Errorf("partition key of kind %s with %d paths: want 1", kindHash, len(pk.Paths))
	case pk.Kind == kindMultiHash && (len(pk.Paths) < 1 || len(pk.Paths) > epk.MaxComponents):
		return fmt.Errorf("partition key of kind %s with %d paths: want 1 to %d", kindMultiHash, len(pk.Paths), epk.MaxComponents)
	case pk.Version < 0 || pk.Version > 2:
		return fmt.Errorf("partition key version %d: want 1 or 2", pk.Version)
	case pk.Kind == kindMultiHash && pk.Version != 2:
		return errors.New("partition key of kind MultiHash needs version 2")
	}
	for _, path := range pk.Paths {
		segments, err := parsePath(path)
		if err != nil {
			return fmt.Errorf("partition key: %w", err)
		}
		if slices.Contains(segments, anyElement) {
			return fmt.Errorf("partition key path %q goes through an array", path)
		}
		d.keyPaths = append(d.keyPaths, segments)
	}
	return nil
}

// maxIDLength is the longest id the service takes, in bytes.
const maxIDLength = 1023

func checkID(id string) error {
	switch {
	case id == "":
		return errors.New("an id is required")
	case len(id) > maxIDLength:
		return fmt.Errorf("%d bytes: at most %d", len(id), maxIDLength)
	case strings.ContainsAny(id, `/\?#`):
		return errors.New(`the characters / \ ? # are not allowed`)
	}
	return nil
}

// indexPolicy is what charges need to know of an indexing policy.
type indexPolicy struct {
	off     bool // indexing mode none
	rules   []indexRule
	spatial [][]string
}

// indexRule includes or excludes a path and what lies below it. For what a rule
// with /? or /* covers beyond that the service has finer distinctions, which do
// not matter for a charge.
type indexRule struct {
	segments []string
	include  bool
}

func parseIndexPolicy(raw json.RawMessage) (indexPolicy, error) {
	type entry struct {
		Path string `json:"path"`
	}
	var sent struct {
		Mode     string  `json:"indexingMode"`
		Included []entry `json:"includedPaths"`
		Excluded []entry `json:"excludedPaths"`
		Spatial  []entry `json:"spatialIndexes"`
	}
	if err := decode(raw, &sent); err != nil {
		return indexPolicy{}, fmt.Errorf("indexing policy: %w", err)
	}
	policy := indexPolicy{off: strings.EqualFold(sent.Mode, "none")}
	if len(sent.Included) == 0 && len(sent.Excluded) == 0 {
		sent.Included = []entry{{Path: "/*"}}
	}
	add := func(entries []entry, use func(segments []string)) error {
		for _, e := range entries {
			segments, err := parsePath(e.Path)
			if err != nil {
				return fmt.Errorf("indexing policy: %w", err)
			}
			if last := segments[len(segments)-1]; last == "?" || last == "*" {
				segments = segments[:len(segments)-1]
			}
			use(segments)
		}
		return nil
	}
	err := errors.Join(
		add(sent.Included, func(s []string) { policy.rules = append(policy.rules, indexRule{s, true}) }),
		add(sent.Excluded, func(s []string) { policy.rules = append(policy.rules, indexRule{s, false}) }),
		add(sent.Spatial, func(s []string) { policy.spatial = append(policy.spatial, s) }),
	)
	return policy, err
}

// indexed tells whether a value at a path is indexed: the longest rule that is
// a prefix of the path decides.
func (p *indexPolicy) indexed(path []string) bool {
	if p.off {
		return false
	}
	include, longest := false, -1
	for _, r := range p.rules {
		if n := len(r.segments); n > longest && n <= len(path) && slices.Equal(r.segments, path[:n]) {
			include, longest = r.include, n
		}
	}
	return include
}
