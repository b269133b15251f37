package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/foliot/foliot/internal/sparselog"
)

const (
	// maxWaiting bounds the spans in memory, about 2 kB each.
	maxWaiting = 4096
	// maxBatch is the number of spans in one request. batchWait is how long a
	// span waits for others.
	maxBatch  = 512
	batchWait = time.Second

	// logEvery is the shortest time between two log lines about failed exports.
	logEvery = time.Minute
)

// outbox is a span processor. Ended spans wait in a queue of fixed length for
// the one goroutine that exports them. newOutbox starts the goroutine, Shutdown
// stops it and waits.
//
// The SDK's own batch processor does not report the spans that it dropped. At a
// stop it continues for the timeout of a batch after it has returned.
type outbox struct {
	exporter sdk.SpanExporter
	giveUp   func() // makes the present export and all later ones fail at once
	log      *slog.Logger

	waiting chan sdk.ReadOnlySpan
	stop    chan struct{}
	done    chan struct{} // closed when the goroutine has ended
	once    sync.Once     // sets before, and closes stop
	before  uint64        // the value of failed at the first Shutdown

	exported, failed, dropped atomic.Uint64

	lines sparselog.Window // log lines about failed exports; only for the goroutine
}

func newOutbox(exporter sdk.SpanExporter, giveUp func(), log *slog.Logger) *outbox {
	b := &outbox{
		exporter: exporter, giveUp: giveUp, log: log,
		waiting: make(chan sdk.ReadOnlySpan, maxWaiting), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go b.run()
	return b
}

// OnStart implements sdk.SpanProcessor.
func (b *outbox) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd implements sdk.SpanProcessor. It never blocks.
func (b *outbox) OnEnd(s sdk.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	select {
	case <-b.stop:
		b.dropped.Add(1)
		return
	default:
	}
	select {
	case b.waiting <- s:
	default:
		b.dropped.Add(1)
	}
}

// ForceFlush implements sdk.SpanProcessor. It does nothing.
func (b *outbox) ForceFlush(context.Context) error { return nil }

// Shutdown exports the waiting spans until ctx ends. It returns when the
// goroutine has ended. Its error contains the number of spans that failed since
// the first call.
func (b *outbox) Shutdown(ctx context.Context) error {
	b.once.Do(func() {
		b.before = b.failed.Load()
		close(b.stop)
	})
	select {
	case <-b.done:
	case <-ctx.Done():
	}
	b.giveUp()
	<-b.done
	if n := b.failed.Load() - b.before; n > 0 {
		return fmt.Errorf("the collector did not accept %d of them", n)
	}
	return nil
}

func (b *outbox) run() {
	defer close(b.done)
	for more := true; more; {
		var batch []sdk.ReadOnlySpan
		if batch, more = b.gather(); len(batch) > 0 {
			b.export(batch)
		}
	}
}

// gather waits for a span and then for up to batchWait for others. It reports
// false if no more spans will come.
func (b *outbox) gather() (batch []sdk.ReadOnlySpan, more bool) {
	select {
	case s := <-b.waiting:
		batch = append(batch, s)
	case <-b.stop:
	}
	wait := time.NewTimer(batchWait)
	defer wait.Stop()
	for len(batch) < maxBatch {
		select {
		case s := <-b.waiting:
			batch = append(batch, s)
			continue
		default:
		}
		select {
		case s := <-b.waiting:
			batch = append(batch, s)
		case <-wait.C:
			return batch, true
		case <-b.stop:
			return batch, false
		}
	}
	return batch, true
}

func (b *outbox) export(batch []sdk.ReadOnlySpan) {
	n := uint64(len(batch))
	err := b.exporter.ExportSpans(context.Background(), batch)
	if err == nil {
		b.exported.Add(n)
		return
	}
	b.failed.Add(n)
	if _, ok := b.lines.Add(time.Now(), 1, logEvery); ok {
		b.log.Warn("spans were lost: the export failed", "error", err, "spans", n)
	}
}

func (b *outbox) counts() Counts {
	return Counts{Exported: b.exported.Load(), Failed: b.failed.Load(), Dropped: b.dropped.Load()}
}
