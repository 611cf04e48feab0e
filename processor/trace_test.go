package processor

import (
	"context"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"warmpath/telemetry"
)

// One batch is one span: receiving, decoding, writing and the checkpoint are its
// children, and it is linked to the traces that the senders began.
func TestABatchIsOneSpanLinkedToItsSenders(t *testing.T) {
	exported := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exported))
	tracer := provider.Tracer("test")
	b := newBatchTest(t, nil)
	b.tel.Tracer = tracer
	c, _ := newTestCheckpointer(func(context.Context, int64, string) error { return nil })
	c.tracer = tracer
	p := &partition{id: "3", batcher: b.batcher, checkpoint: c, account: telemetry.NewLedger(time.Now).Partition("3"), tracer: tracer, log: b.log, now: b.now}

	events := []*azeventhubs.ReceivedEventData{
		event(0, time.Second, flat("a")), event(1, time.Second, flat("b")), event(2, time.Second, flat("c")),
	}
	const first, second = "0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736"
	events[0].Properties = map[string]any{"traceparent": "00-" + first + "-b7ad6b7169203331-01"}
	events[1].Properties = map[string]any{"Diagnostic-Id": "00-" + second + "-00f067aa0ba902b7-01"}
	if err := p.settle(context.Background(), noon, events); err != nil {
		t.Fatal(err)
	}
	if err := c.flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	spans := map[string]tracetest.SpanStub{}
	for _, s := range exported.GetSpans() {
		spans[s.Name] = s
	}
	batch := spans["batch"]
	if batch.SpanKind != trace.SpanKindConsumer || len(batch.Links) != 2 ||
		batch.Links[0].SpanContext.TraceID().String() != first || batch.Links[1].SpanContext.TraceID().String() != second {
		t.Errorf("batch span %v with links %+v", batch.SpanKind, batch.Links)
	}
	want := attribute.Int("messaging.batch.message_count", 3)
	found := false
	for _, a := range batch.Attributes {
		found = found || a == want
	}
	if !found {
		t.Errorf("attributes %v, want %v among them", batch.Attributes, want)
	}
	for _, name := range []string{"receive", "decode", "write", "checkpoint"} {
		if s, ok := spans[name]; !ok || s.Parent.SpanID() != batch.SpanContext.SpanID() {
			t.Errorf("%s is no child of the batch: %+v", name, s.Parent)
		}
	}
	if err := provider.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}
