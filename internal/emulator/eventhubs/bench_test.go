package eventhubs_test

import (
	"bytes"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/internal/emulator/amqp"
	"warmpath/internal/emulator/eventhubs"
)

// kinds of events: bare ones have a body alone, the others what an IoT Hub and a
// device add.
var kinds = []struct {
	name  string
	event eventhubs.Event
}{
	{"bare-250", eventhubs.Event{Body: bytes.Repeat([]byte("x"), 250)}},
	{"iot-250", iotEvent(250)},
	{"bare-1000", eventhubs.Event{Body: bytes.Repeat([]byte("x"), 1000)}},
	{"iot-1000", iotEvent(1000)},
}

func iotEvent(size int) eventhubs.Event {
	e := eventhubs.TelemetryEvent("device-000001", bytes.Repeat([]byte("x"), size), time.UnixMilli(1))
	e.Properties = amqp.Properties{MessageID: "c9a4b1e2", To: "/devices/device-000001/messages/events", ContentType: "application/json", ContentEncoding: "utf-8"}
	e.ApplicationProperties = map[string]any{"schema": "v1", "level": int32(3)}
	e.EnqueuedTime = time.Time{}
	return e
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func startBench(b *testing.B, partitions int) *eventhubs.Server {
	b.Helper()
	s, err := eventhubs.Start(eventhubs.WithHub(testHub, partitions))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func fill(b *testing.B, s *eventhubs.Server, partitions, n int, e eventhubs.Event) {
	b.Helper()
	for i := range n {
		if _, err := s.Publish(testHub, fmt.Sprint(i%partitions), e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkServe measures the server alone: the other side counts frames and
// throws them away, in the same process, so cpu-us/event is an upper bound.
func BenchmarkServe(b *testing.B) {
	const stock = 100_000
	for _, kind := range kinds {
		b.Run(kind.name, func(b *testing.B) {
			s := startBench(b, 1)
			fill(b, s, 1, stock, kind.event)
			b.SetBytes(int64(len(kind.event.Body)))
			b.ReportAllocs()
			b.ResetTimer()
			before := cpu()
			for left := b.N; left > 0; left -= stock {
				c := openRaw(b, s.Addr(), 0)
				c.receive(testHub + "/ConsumerGroups/$Default/Partitions/0")
				n := min(left, stock)
				c.credit(0, uint32(n))
				c.skip(n)
				c.conn.Close()
			}
			b.ReportMetric(float64((cpu()-before).Nanoseconds())/1e3/float64(b.N), "cpu-us/event")
		})
	}
}

// BenchmarkConsume measures the client library with the server, in one process.
func BenchmarkConsume(b *testing.B) {
	const partitions, stock = 4, 100_000
	for _, kind := range kinds[:2] {
		b.Run(kind.name, func(b *testing.B) {
			s := startBench(b, partitions)
			fill(b, s, partitions, stock, kind.event)
			c, err := azeventhubs.NewConsumerClientFromConnectionString(s.ConnectionString(), testHub, "$Default", nil)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close(background())
			b.ReportAllocs()
			b.ResetTimer()
			before := cpu()
			for left := b.N; left > 0; left -= stock {
				done := make(chan error, partitions)
				for id := range partitions {
					go func() { done <- drainPartition(c, fmt.Sprint(id), (min(left, stock)+partitions-1)/partitions) }()
				}
				for range partitions {
					if err := <-done; err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64((cpu()-before).Nanoseconds())/1e3/float64(b.N), "cpu-us/event")
		})
	}
}

func drainPartition(c *azeventhubs.ConsumerClient, id string, n int) error {
	p, err := c.NewPartitionClient(id, &azeventhubs.PartitionClientOptions{
		StartPosition: azeventhubs.StartPosition{Earliest: to(true)}, Prefetch: 1000})
	if err != nil {
		return err
	}
	defer p.Close(background())
	for n > 0 {
		events, err := p.ReceiveEvents(background(), min(n, 500), nil)
		if err != nil {
			return err
		}
		n -= len(events)
	}
	return nil
}

// BenchmarkPublish measures the way of an event into the log.
func BenchmarkPublish(b *testing.B) {
	for _, kind := range kinds[:2] {
		b.Run(kind.name, func(b *testing.B) {
			s := startBench(b, 32)
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				if i%1_000_000 == 0 && i > 0 {
					b.StopTimer()
					if err := s.RecreateHub(testHub); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				if _, err := s.Publish(testHub, "7", kind.event); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkMemory reports what a million stored events occupy.
func BenchmarkMemory(b *testing.B) {
	const n = 1_000_000
	for b.Loop() {
		s := startBench(b, 32)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		fill(b, s, 32, n, kinds[0].event)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/event")
		_ = s.Close()
	}
}

// BenchmarkDispatch measures how long one event takes from Publish to the
// client library's return.
func BenchmarkDispatch(b *testing.B) {
	s := startBench(b, 1)
	c, err := azeventhubs.NewConsumerClientFromConnectionString(s.ConnectionString(), testHub, "$Default", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(background())
	p, err := c.NewPartitionClient("0", &azeventhubs.PartitionClientOptions{StartPosition: azeventhubs.StartPosition{Earliest: to(true)}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close(background())
	for b.Loop() {
		if _, err := s.Publish(testHub, "0", kinds[0].event); err != nil {
			b.Fatal(err)
		}
		if _, err := p.ReceiveEvents(background(), 1, nil); err != nil {
			b.Fatal(err)
		}
	}
}
