package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
)

const (
	// maxWaiting bounds the spans in memory, about 2 kB each.
	maxWaiting = 4096
	// maxBatch is the number of spans in one request, and batchWait is how long
	// a span waits for others.
	maxBatch  = 512
	batchWait = time.Second
)

// outbox is the SDK's batch processor, with counts of the spans by result. The
// SDK does not report the spans that it drops, so outbox bounds the queue.
type outbox struct {
	sdk.SpanProcessor
	exporter sdk.SpanExporter
	giveUp   func() // makes the present export and all later ones fail at once
	log      *slog.Logger
	done     chan struct{} // closed after the last export

	waiting                   atomic.Int64
	exported, failed, dropped atomic.Uint64
	stopped                   atomic.Bool // the batch processor takes no more spans
}

func newOutbox(exporter sdk.SpanExporter, giveUp func(), log *slog.Logger) *outbox {
	b := &outbox{exporter: exporter, giveUp: giveUp, log: log, done: make(chan struct{})}
	b.SpanProcessor = sdk.NewBatchSpanProcessor((*counting)(b),
		sdk.WithMaxQueueSize(maxWaiting), sdk.WithMaxExportBatchSize(maxBatch), sdk.WithBatchTimeout(batchWait))
	return b
}

// OnEnd implements sdk.SpanProcessor, and never blocks.
func (o *outbox) OnEnd(s sdk.ReadOnlySpan) {
	switch {
	case !s.SpanContext().IsSampled():
	case o.waiting.Add(1) > maxWaiting || o.stopped.Load():
		o.waiting.Add(-1)
		o.dropped.Add(1)
	default:
		o.SpanProcessor.OnEnd(s)
	}
}

// Shutdown exports the waiting spans until ctx ends, with the number of spans
// that failed in its error.
func (o *outbox) Shutdown(ctx context.Context) error {
	before := o.failed.Load()
	o.stopped.Store(true)
	_ = o.SpanProcessor.Shutdown(ctx) // an error means that ctx has ended
	o.giveUp()
	<-o.done
	if n := o.failed.Load() - before; n > 0 {
		return fmt.Errorf("the collector did not accept %d of them", n)
	}
	return nil
}

// counting is the sdk.SpanExporter of the batch processor.
type counting outbox

func (c *counting) ExportSpans(ctx context.Context, batch []sdk.ReadOnlySpan) error {
	n := len(batch)
	err := c.exporter.ExportSpans(ctx, batch)
	c.waiting.Add(-int64(n))
	if err == nil {
		c.exported.Add(uint64(n))
		return nil
	}
	c.failed.Add(uint64(n))
	c.log.Warn("spans were lost: the export failed", "error", err)
	return nil
}

func (c *counting) Shutdown(context.Context) error {
	close(c.done)
	return nil
}
