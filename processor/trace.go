package processor

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// maxLinks bounds the links of one span: backends cut long lists anyway.
const maxLinks = 128

// startBatch begins the span of one batch at the time its first event was
// there, links it to the traces that the senders began, and records the
// receiving as its first child. With traces off it costs next to nothing.
func startBatch(ctx context.Context, tracer trace.Tracer, partition string, began time.Time, events []*azeventhubs.ReceivedEventData) (context.Context, trace.Span) {
	ctx, span := tracer.Start(ctx, "batch", trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("messaging.destination.partition.id", partition),
		attribute.Int("messaging.batch.message_count", len(events)),
	))
	if !span.IsRecording() {
		return ctx, span
	}
	links := 0
	for _, e := range events {
		if sender := senderContext(e); sender.IsValid() && links < maxLinks {
			span.AddLink(trace.Link{SpanContext: sender})
			links++
		}
	}
	_, receive := tracer.Start(ctx, "receive", trace.WithTimestamp(began))
	receive.End()
	return ctx, span
}

// senderContext reads the trace context that a message carries: W3C's
// traceparent, or the Azure SDKs' older name for the same value.
func senderContext(e *azeventhubs.ReceivedEventData) trace.SpanContext {
	for _, name := range []string{"traceparent", "Diagnostic-Id"} {
		if value, ok := e.Properties[name].(string); ok {
			ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": value})
			return trace.SpanContextFromContext(ctx)
		}
	}
	return trace.SpanContext{}
}
