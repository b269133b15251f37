package scale

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/foliot/foliot/internal/wire"
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
	stopProfile := harness.OK(st.Profile("creates"))
	server := st.Server.PID()
	serverBefore, clientsBefore := harness.OK(system.CPUOf(server)), harness.OK(system.CPUOf(os.Getpid()))
	began := time.Now()
	created, err := st.CreateSingly(ctx, clients, func(c, i int) (wire.TaskInput, bool) {
		return harness.Task(fmt.Sprintf("create-%d-%d", c, i), st.Receiver.URL(), due), time.Since(began) < lasts
	})
	took := time.Since(began)
	harness.Check(errors.Join(err, stopProfile(ctx)))
	rate := float64(created) / took.Seconds()
	t.Measured("creates", "a second", rate)
	t.Measured("creates, server", "us each", harness.Each(harness.OK(system.CPUOf(server))-serverBefore, created))
	t.Measured("creates, clients", "us each", harness.Each(harness.OK(system.CPUOf(os.Getpid()))-clientsBefore, created))
	t.Must(rate >= promised, "%d clients: %d creates in %.1f s, %.0f a second, at least %d", clients, created, took.Seconds(), rate, promised)
	st.Carry(ctx, harness.Phases{})
}
