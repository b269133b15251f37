package main

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// bystanderDelay is how long before they are due bystanders are created.
const bystanderDelay = 2 * time.Second

// bystanders are a few tasks a second in a queue of their own, to a receiver of
// their own, while something else is going on.
type bystanders struct {
	st   *stage
	stop func()

	mu      sync.Mutex      // guards everything below
	names   []string        // promised
	refused verify.Offences // creates without a 2xx
	err     error           // of the first of them
}

// bystand starts them; end stops them.
func (st *stage) bystand(ctx context.Context, perSecond int) *bystanders {
	b := &bystanders{st: st}
	b.stop = timing.InBackground(ctx, func(ctx context.Context) {
		timing.AtRate(ctx, perSecond, func(i int) { b.create(context.WithoutCancel(ctx), i) })
	})
	return b
}

func (b *bystanders) create(ctx context.Context, i int) {
	due := timing.DueIn(bystanderDelay)
	in := input(verify.Numbered{Prefix: "bystander"}.Name(i), b.st.receiver.URL(), due)
	in.Queue = "bystanders"
	_, err := b.st.client.create(ctx, in)
	if err == nil {
		err = b.st.promised(in.Name, due)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.refused.Add("%v", err)
		b.err = cmp.Or(b.err, err)
	}
	if err == nil {
		b.names = append(b.names, in.Name)
	}
}

// end creates no more and waits until all have arrived. It returns the first
// error that a create had.
func (b *bystanders) end(ctx context.Context) error {
	b.stop()
	b.st.receiver.AwaitAll(ctx, b.names, 20*time.Second)
	return b.err
}

// importNumbered brings tasks in before they are due, as a user would.
func (st *stage) importNumbered(ctx context.Context, n verify.Numbered, queue, callback string) error {
	file := st.path(n.Prefix + ".ndjson")
	err := writeInputs(file, n.Count, func(i int) wire.TaskInput {
		in := input(n.Name(i), callback, n.Due(i))
		in.Queue = queue
		return in
	})
	if err != nil {
		return err
	}
	created, seconds, err := st.importFile(ctx, file)
	if err != nil {
		return err
	}
	st.t.note("%s: imported %d in %.1f s, %.0f a second", n.Prefix, created, seconds, float64(created)/seconds)
	ahead := time.Until(n.Due(0))
	st.t.must(created == n.Count && ahead > 0, "created %d of %d, %s before the first is due", created, n.Count, verify.Millis(ahead))
	return nil
}

// leadFor is how far ahead tasks must be due so that they can be imported before.
func leadFor(count int) time.Duration {
	const slowest = 20_000 // a second: what million promises
	return 5*time.Second + time.Duration(count)*time.Second/slowest
}
