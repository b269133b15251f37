package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/system"
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
	stopProfile := harness.OK(st.Profile("creates"))
	server := st.Server.PID()
	serverBefore, clientsBefore := harness.OK(system.CPUOf(server)), harness.OK(system.CPUOf(os.Getpid()))
	began := time.Now()
	err := timing.InParallel(clients, clients, func(c int) (err error) {
		client, err := harness.DialRaw(ctx, st.Server.URL())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, client.Close()) }()
		for i := 0; time.Since(began) < lasts; i++ {
			body, err := json.Marshal(harness.Task(fmt.Sprintf("create-%d-%d", c, i), st.Receiver.URL(), due))
			if err != nil {
				return err
			}
			status, err := client.Post("/v1/tasks", body)
			if err != nil {
				return err
			}
			if status != http.StatusCreated {
				return fmt.Errorf("a create was answered with %d", status)
			}
			created.Add(1)
		}
		return nil
	})
	took := time.Since(began)
	harness.Check(errors.Join(err, stopProfile(ctx)))
	rate := float64(created.Load()) / took.Seconds()
	n := int(created.Load())
	t.Measured("creates", "a second", rate)
	t.Measured("creates, server", "us each", each(harness.OK(system.CPUOf(server))-serverBefore, n))
	t.Measured("creates, clients", "us each", each(harness.OK(system.CPUOf(os.Getpid()))-clientsBefore, n))
	t.Must(rate >= promised, "%d clients: %d creates in %.1f s, %.0f a second, at least %d", clients, created.Load(), took.Seconds(), rate, promised)
	st.Carry(ctx, harness.Phases{})
}
