package bulk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Container is what the service knows of the container.
type Container struct {
	KeyPaths     []string       // such as /deviceId; more than one is a hierarchical key
	Hierarchical bool           // of kind MultiHash
	KeyVersion   int            // 1 or 2; bulk needs 2
	DefaultTTL   *time.Duration // nil: nothing expires; negative: only documents with a ttl of their own
}

// readContainer reads the container's definition.
func (c *client) readContainer(ctx context.Context) (Container, error) {
	var served struct {
		PartitionKey struct {
			Paths   []string `json:"paths"`
			Kind    string   `json:"kind"`
			Version int      `json:"version"`
		} `json:"partitionKey"`
		DefaultTTL *int64 `json:"defaultTtl"`
	}
	if _, err := c.get(ctx, c.endpoints.current(), c.target.path(), "colls", c.target.link(), c.common, &served); err != nil {
		return Container{}, fmt.Errorf("read container %s/%s: %w", c.target.Database, c.target.Container, err)
	}
	out := Container{
		KeyPaths:     served.PartitionKey.Paths,
		Hierarchical: served.PartitionKey.Kind == "MultiHash",
		KeyVersion:   max(served.PartitionKey.Version, 1),
	}
	if served.DefaultTTL != nil {
		ttl := time.Duration(*served.DefaultTTL) * time.Second
		out.DefaultTTL = &ttl
	}
	if n := len(out.KeyPaths); n == 0 || n > maxKeyComponents {
		return Container{}, fmt.Errorf("read container %s/%s: %d partition key paths, expected 1 to %d", c.target.Database, c.target.Container, n, maxKeyComponents)
	}
	return out, nil
}

// sameKey tells whether two definitions place documents in the same way.
func (c Container) sameKey(d Container) bool {
	return c.Hierarchical == d.Hierarchical && c.KeyVersion == d.KeyVersion && slices.Equal(c.KeyPaths, d.KeyPaths)
}

// readLayout reads the container's physical ranges.
func (c *client) readLayout(ctx context.Context) ([]bounds, error) {
	var served []servedRange
	header := c.common.Clone()
	header["X-Ms-Max-Item-Count"] = []string{"-1"}
	for {
		var page struct {
			Ranges []servedRange `json:"PartitionKeyRanges"`
		}
		h, err := c.get(ctx, c.endpoints.current(), c.target.path()+"/pkranges", "pkranges", c.target.link(), header, &page)
		if err != nil {
			return nil, fmt.Errorf("read partition key ranges of %s/%s: %w", c.target.Database, c.target.Container, err)
		}
		served = append(served, page.Ranges...)
		next := h.Get(headerContinuation)
		if next == "" {
			break
		}
		header[headerContinuation] = []string{next}
	}
	layout, err := newLayout(served)
	if err != nil {
		return nil, fmt.Errorf("partition key ranges of %s/%s: %w", c.target.Database, c.target.Container, err)
	}
	return layout, nil
}

// errInconclusive means that a probe neither showed nor refuted that the
// service takes bulk requests.
var errInconclusive = errors.New("whether bulk requests are supported is not known")

// probe asks for a document that does not exist, by a bulk request, and tells
// by the answer whether the service takes such requests: nil, or an error that
// wraps ErrNotSupported or errInconclusive.
func (w *Writer) probe(ctx context.Context, rangeID string) error {
	op := Operation{Kind: Read, ID: "bulk-probe-" + newActivityID()}
	components := make([]Component, len(w.container.KeyPaths)-1)
	for i := range components {
		components[i] = String(op.ID)
	}
	op.Key = NewKey(String(op.ID), components...)
	b := w.newBatch()
	defer w.freeBatch(b)
	b.payload.text = append(appendOperation(append(b.payload.text[:0], '['), &op), ']')
	res, err := w.client.postBulk(ctx, rangeID, b.payload, &b.text)
	if err != nil {
		return fmt.Errorf("%w: %w", errInconclusive, err)
	}
	switch {
	case res.status < http.StatusMultipleChoices:
		answers, err := parseAnswers(b.answers[:0], b.text.Bytes())
		if errors.Is(err, errAnswerShape) || err == nil && len(answers) != 1 {
			return fmt.Errorf("%w: the answer to a bulk request is not a bulk answer", ErrNotSupported)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errInconclusive, err)
		}
		return nil
	case res.status == http.StatusForbidden && res.subStatus == 0:
		return nil // an identity that may write but not read: the request itself was understood
	case res.status == http.StatusBadRequest, res.status == http.StatusMethodNotAllowed, res.status == http.StatusNotImplemented:
		return fmt.Errorf("%w: the service answered %d/%d to a bulk request", ErrNotSupported, res.status, res.subStatus)
	}
	return fmt.Errorf("%w: %w", errInconclusive, &StatusError{Status: res.status, SubStatus: res.subStatus})
}
