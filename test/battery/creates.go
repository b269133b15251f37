package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
)

// creates: how many single creates a second, each durable before its answer.
func creates(ctx context.Context, t *trial) error {
	st, err := t.stage(ctx)
	if err != nil {
		return err
	}
	defer st.close()

	const clients, lasts, promised = 64, 10 * time.Second, 5000
	due := timing.DueIn(24 * time.Hour)
	ctx, stop := context.WithTimeout(ctx, lasts+30*time.Second)
	defer stop()
	var created atomic.Int64 // added to by every client, read when all have ended
	began := time.Now()
	err = timing.InParallel(clients, clients, func(c int) error {
		for i := 0; time.Since(began) < lasts; i++ {
			if _, err := st.client.create(ctx, input(fmt.Sprintf("create-%d-%d", c, i), st.receiver.URL(), due)); err != nil {
				return err
			}
			created.Add(1)
		}
		return nil
	})
	took := time.Since(began)
	if err != nil {
		return err
	}
	rate := float64(created.Load()) / took.Seconds()
	t.must(rate >= promised, "%d clients: %d creates in %.1f s, %.0f a second, at least %d", clients, created.Load(), took.Seconds(), rate, promised)
	return st.server.stop(10 * time.Second)
}
