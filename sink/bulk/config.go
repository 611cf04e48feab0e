package bulk

import (
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Hard limits of the service on one request
// (learn.microsoft.com/azure/cosmos-db/concepts-limits).
const (
	mostOperations = 100
	mostBytes      = 2<<20 - 4096
)

// Config bounds a writer and tells it whom to ask and to inform.
type Config struct {
	// MaxOperations is the most operations in one request, 1 to 100.
	MaxOperations int
	// MaxBytes is the most bytes in one request, 1,024 to 2,093,056. An
	// operation that is larger travels alone.
	MaxBytes int
	// Linger is how long an operation waits for company before a request that
	// is not full is sent, 0 to 1 s.
	Linger time.Duration

	// Lanes is the number of requests that may be under way to one physical
	// range, 1 to 64. The operations of a partition key share a lane.
	Lanes int
	// Queue is the number of operations that may wait in one lane before
	// Submit blocks, 1 to 65,536.
	Queue int
	// MaxPending is the number of operations that the writer holds before
	// Submit blocks, 1 to 16,777,216. Together with the size of bodies it
	// bounds memory.
	MaxPending int

	// MaxRUPerSecond is the most request units to spend on the container in a
	// second, 0 for no limit. It is divided evenly among the physical ranges,
	// as the service divides what is provisioned.
	MaxRUPerSecond float64

	// RequestTimeout is how long one request may take, 100 ms to 5 min.
	RequestTimeout time.Duration
	// RetryFirst and RetryMost bound the pause before something is tried again
	// for which the service names no pause: 1 ms to 1 min, and from RetryFirst
	// to 10 min.
	RetryFirst, RetryMost time.Duration

	// PriorityLevel is "High", "Low" or empty. The service heeds it where
	// priority-based execution is enabled on the account.
	PriorityLevel string
	// ThroughputBucket is the bucket whose share of the throughput is used, 1
	// to 5, or 0 for none.
	ThroughputBucket int

	// Admit, if set, is asked before every request, the first and each retry,
	// whether an operation may still be sent. One that may not is finished with
	// [ErrNotAdmitted]. It may also bring the operation up to date, by changing
	// Kind, Body and IfMatch. It is called from many goroutines at once, but
	// for one partition key only from one at a time, and must not block.
	Admit func(*Operation) bool
	// Revise, if set, is told of every answer before Done, and may make the
	// operation into another one on the same document, by changing Kind, Body
	// and IfMatch, and return true. Then that one takes the place of the first,
	// ahead of every other operation on the document, and Done is not called
	// yet. It is called like Admit.
	Revise func(*Operation, Result) bool
	// Observer, if set, hears of what the writer does.
	Observer Observer

	// Client is passed to the azcore pipeline that requests travel through:
	// transport, logging, tracing, policies. Retry is ignored: the writer
	// retries. Without a transport the writer brings its own.
	Client policy.ClientOptions
}

// DefaultConfig is a start for most uses.
func DefaultConfig() Config {
	return Config{
		MaxOperations: mostOperations,
		// What the official JavaScript and Java SDKs send at most: enough for a
		// full request of small documents, and far from the service's limit.
		MaxBytes:       220_201,
		Linger:         10 * time.Millisecond,
		Lanes:          4,
		Queue:          512,
		MaxPending:     32_768,
		RequestTimeout: 10 * time.Second,
		RetryFirst:     20 * time.Millisecond,
		RetryMost:      5 * time.Second,
	}
}

// Validate names the first field that is out of its range.
func (c Config) Validate() error {
	for _, f := range []struct {
		name         string
		value        int
		least, limit int
	}{
		{"max operations", c.MaxOperations, 1, mostOperations},
		{"max bytes", c.MaxBytes, 1024, mostBytes},
		{"lanes", c.Lanes, 1, 64},
		{"queue", c.Queue, 1, 65_536},
		{"max pending", c.MaxPending, 1, 1 << 24},
		{"throughput bucket", c.ThroughputBucket, 0, 5},
	} {
		if f.value < f.least || f.value > f.limit {
			return fmt.Errorf("%s is %d, allowed are %d to %d", f.name, f.value, f.least, f.limit)
		}
	}
	for _, f := range []struct {
		name         string
		value        time.Duration
		least, limit time.Duration
	}{
		{"linger", c.Linger, 0, time.Second},
		{"request timeout", c.RequestTimeout, 100 * time.Millisecond, 5 * time.Minute},
		{"retry first", c.RetryFirst, time.Millisecond, time.Minute},
		{"retry most", c.RetryMost, c.RetryFirst, 10 * time.Minute},
	} {
		if f.value < f.least || f.value > f.limit {
			return fmt.Errorf("%s is %v, allowed are %v to %v", f.name, f.value, f.least, f.limit)
		}
	}
	if !(c.MaxRUPerSecond >= 0 && c.MaxRUPerSecond <= 1e9) {
		return fmt.Errorf("max RU per second is %v, allowed are 0 to 1e9", c.MaxRUPerSecond)
	}
	switch c.PriorityLevel {
	case "", "High", "Low":
	default:
		return fmt.Errorf(`priority level is %q, allowed are "High", "Low" and ""`, c.PriorityLevel)
	}
	return nil
}
