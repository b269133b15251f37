package harness

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// BystanderDelay is the time from the creation of a bystander to its due time.
const BystanderDelay = 2 * time.Second

// Bystanders are a few tasks a second in a separate queue. They show whether
// other load delays them.
type Bystanders struct {
	st   *Environment
	Stop func()

	mu      sync.Mutex      // guards everything below
	Names   []string        // promised
	Refused verify.Offences // creates without a 2xx
	err     error           // of the first refused create
}

// StartBystanders starts to create bystanders. End stops that.
func (e *Environment) StartBystanders(ctx context.Context, perSecond int) *Bystanders {
	b := &Bystanders{st: e}
	b.Stop = timing.InBackground(ctx, func(ctx context.Context) {
		timing.AtRate(ctx, perSecond, func(i int) { b.create(context.WithoutCancel(ctx), i) })
	})
	return b
}

func (b *Bystanders) create(ctx context.Context, i int) {
	due := timing.DueIn(BystanderDelay)
	in := Task(verify.Numbered{Prefix: "bystander"}.Name(i), b.st.Receiver.URL(), due)
	in.Queue = "bystanders"
	_, err := b.st.Client.Create(ctx, in)
	if err == nil {
		err = b.st.Promised(in.Name, due)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.Refused.Add("%v", err)
		b.err = cmp.Or(b.err, err)
	}
	if err == nil {
		b.Names = append(b.Names, in.Name)
	}
}

// End stops the creates, and waits until all bystanders have arrived. It
// returns the first error of a create.
func (b *Bystanders) End(ctx context.Context) error {
	b.Stop()
	b.st.Receiver.AwaitAll(ctx, b.Names, 20*time.Second)
	return b.err
}
