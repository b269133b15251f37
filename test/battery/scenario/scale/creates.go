package scale

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Creates: how many single creates a second, each durable before its answer.
func Creates(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx)
	const clients, lasts, promised = 64, 10 * time.Second, 5000
	due := timing.DueIn(24 * time.Hour)
	ctx, stop := context.WithTimeout(ctx, lasts+30*time.Second)
	defer stop()
	var created atomic.Int64 // added to by every client, read when all have ended
	began := time.Now()
	err := timing.InParallel(clients, clients, func(c int) error {
		for i := 0; time.Since(began) < lasts; i++ {
			if _, err := st.Client.Create(ctx, harness.Task(fmt.Sprintf("create-%d-%d", c, i), st.Receiver.URL(), due)); err != nil {
				return err
			}
			created.Add(1)
		}
		return nil
	})
	took := time.Since(began)
	harness.Check(err)
	rate := float64(created.Load()) / took.Seconds()
	t.Must(rate >= promised, "%d clients: %d creates in %.1f s, %.0f a second, at least %d", clients, created.Load(), took.Seconds(), rate, promised)
	st.Carry(ctx, harness.Phases{})
}
