package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func cosmosChecks() []check {
	on := func(name string, like setting, run func(context.Context, *account) (any, error)) check {
		return check{"cosmos/" + name, withContainer(name, like, run)}
	}
	plain := setting{}
	return []check{
		on("container", setting{timeToLive: 300}, readContainer),
		on("upsert", plain, upsert),
		on("create-conflict", plain, createConflict),
		on("read", plain, read),
		on("wrong-key", plain, wrongKey),
		on("etag", plain, etag),
		on("replace", plain, replace),
		on("delete", plain, remove),
		on("patch", plain, patch),
		on("hierarchical-key", setting{hierarchy: []string{"/tenant", "/deviceId"}}, hierarchicalKey),
		on("batch", plain, batch),
		on("batch-rollback", plain, batchRollback),
		on("bulk", setting{throughput: 10_000}, writeInBulk), // JavaScript's items.bulk leaves waiting to its caller
		on("query-parameters", plain, queryParameters),
		on("query-paging", plain, queryPaging),
		on("query-one-key", plain, queryOneKey),
		on("spatial", plain, spatial),
		on("throttled", setting{scarce: true}, throttled),
		on("time-to-live", setting{timeToLive: -1}, timeToLive),
	}
}

// setting is what the container of a check is like. Unless it says otherwise,
// the container is partitioned by /deviceId and keeps documents for ever.
type setting struct {
	hierarchy  []string // paths of a hierarchical key
	timeToLive int32    // as the service takes it, 0 for off
	throughput int32    // request units a second, 0 for 400
	scarce     bool     // in the account of scarce request units
}

func (s setting) properties() azcosmos.ContainerProperties {
	p := azcosmos.ContainerProperties{ID: "items", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{
		Kind: azcosmos.PartitionKeyKindHash, Version: 2, Paths: []string{"/deviceId"}}}
	if s.hierarchy != nil {
		p.PartitionKeyDefinition.Kind, p.PartitionKeyDefinition.Paths = azcosmos.PartitionKeyKindMultiHash, s.hierarchy
	}
	if s.timeToLive != 0 {
		p.DefaultTimeToLive = &s.timeToLive
	}
	return p
}

// account is a client with a container for one check.
type account struct {
	*azcosmos.ContainerClient
	database   string
	connection string
	answers    *answers
}

// withContainer makes a check of a function that gets a container, in a database
// that is deleted afterwards.
func withContainer(name string, like setting, run func(context.Context, *account) (any, error)) func(context.Context, target) (any, error) {
	return func(ctx context.Context, to target) (any, error) {
		connection := to.Cosmos
		if like.scarce {
			connection = to.Scarce
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		defer transport.CloseIdleConnections()
		heard := &answers{}
		client, err := azcosmos.NewClientFromConnectionString(connection, &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{
			Transport:        &http.Client{Transport: transport},
			PerRetryPolicies: []policy.Policy{heard},
			Retry:            policy.RetryOptions{MaxRetries: 9}, // as the JavaScript client does
		}})
		if err != nil {
			return nil, err
		}
		defer client.Close()
		database := "conformance-go-" + to.Run + "-" + name
		if _, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: database}, nil); err != nil {
			return nil, fmt.Errorf("create database: %w", err)
		}
		db, err := client.NewDatabase(database)
		if err != nil {
			return nil, err
		}
		defer func() { _, _ = db.Delete(context.WithoutCancel(ctx), nil) }()
		properties, throughput := like.properties(), azcosmos.NewManualThroughputProperties(cmp.Or(like.throughput, 400))
		if _, err := db.CreateContainer(ctx, properties, &azcosmos.CreateContainerOptions{ThroughputProperties: &throughput}); err != nil {
			return nil, fmt.Errorf("create container: %w", err)
		}
		items, err := db.NewContainer(properties.ID)
		if err != nil {
			return nil, err
		}
		return run(ctx, &account{items, database, connection, heard})
	}
}

// answers counts the answers of a service by status, those included that the
// client tries again on.
type answers struct {
	mu     sync.Mutex // covers status
	status map[int]int
}

// Do is a policy's.
func (a *answers) Do(req *policy.Request) (*http.Response, error) {
	res, err := req.Next()
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.status == nil {
			a.status = make(map[int]int)
		}
		a.status[res.StatusCode]++
	}
	return res, err
}

func (a *answers) count(status int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status[status]
}

// status is the answer's status, whether or not the client calls it an error.
func status(res azcosmos.Response, err error) (int, error) {
	var refused *azcore.ResponseError
	switch {
	case errors.As(err, &refused):
		return refused.StatusCode, nil
	case err != nil:
		return 0, err
	}
	return res.RawResponse.StatusCode, nil
}

// statuses collects the statuses of calls in turn, and the first other error.
type statuses struct {
	all []int
	err error
}

func (s *statuses) add(res azcosmos.ItemResponse, err error) azcosmos.ItemResponse {
	code, err := status(res.Response, err)
	if err != nil && s.err == nil {
		s.err = err
	}
	s.all = append(s.all, code)
	return res
}

func key(device string) azcosmos.PartitionKey { return azcosmos.NewPartitionKeyString(device) }

// position is the document most checks use.
func position(device, id string, n int) []byte {
	text, err := json.Marshal(object{"id": id, "deviceId": device, "n": n})
	if err != nil {
		panic(err) // strings and numbers marshal
	}
	return text
}

// own is a document without what the service adds, whose names it returns, too.
func own(body []byte) (document object, added []string, err error) {
	if err := json.Unmarshal(body, &document); err != nil {
		return nil, nil, fmt.Errorf("document %q: %w", body, err)
	}
	for _, name := range []string{"_attachments", "_etag", "_rid", "_self", "_ts"} {
		if _, ok := document[name]; ok {
			added = append(added, name)
			delete(document, name)
		}
	}
	return document, added, nil
}

// stored is a document as it is served, without what the service adds.
func (a *account) stored(ctx context.Context, device, id string) (object, error) {
	res, err := a.ReadItem(ctx, key(device), id, nil)
	if err != nil {
		return nil, err
	}
	document, _, err := own(res.Value)
	return document, err
}

func readContainer(ctx context.Context, a *account) (any, error) {
	res, err := a.Read(ctx, nil)
	if err != nil {
		return nil, err
	}
	throughput, err := a.ReadThroughput(ctx, nil)
	if err != nil {
		return nil, err
	}
	provisioned, _ := throughput.ThroughputProperties.ManualThroughput()
	p := res.ContainerProperties
	return object{"id": p.ID, "paths": p.PartitionKeyDefinition.Paths, "kind": p.PartitionKeyDefinition.Kind,
		"version": p.PartitionKeyDefinition.Version, "timeToLive": p.DefaultTimeToLive, "throughput": provisioned,
		"indexed": slices.ContainsFunc(p.IndexingPolicy.IncludedPaths, func(i azcosmos.IncludedPath) bool { return i.Path == "/*" })}, nil
}
