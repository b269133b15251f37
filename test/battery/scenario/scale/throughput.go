package scale

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Throughput: deliveries a second from a backlog, with signatures and without,
// alternately on one server. The receiver shares the machine.
func Throughput(ctx context.Context, t *harness.Run) {
	st := t.NewEnvironment(ctx)
	fast := st.StartFast("127.0.0.1:0")
	const turns, promised = 3, 15_000
	var drains []drain
	for turn := range turns {
		plain := drainBacklog(ctx, st, fast, fmt.Sprintf("plain-%d", turn+1))
		signed := drainSignedBacklog(ctx, st, fast, fmt.Sprintf("signed-%d", turn+1))
		drains = append(drains, plain, signed)
	}
	st.StopWith(fast)
	// Another program can slow down one turn, so the median counts.
	var rates []float64
	for _, d := range drains {
		rate := mustDrain(t, d, fast.Path)
		if d.signed {
			rates = append(rates, rate)
		}
	}
	slices.Sort(rates)
	median := rates[len(rates)/2]
	t.Must(median >= promised, "signed, the median of %d turns: %.0f deliveries a second, at least %d", turns, median, promised)
}

// drain is the delivery of a backlog and its cost.
type drain struct {
	tasks            verify.Numbered
	signed           bool
	server, receiver time.Duration   // processor time
	counts           receiver.Counts // of this drain alone
}

// drainBacklog imports tasks that are due at one instant and awaits their delivery.
func drainBacklog(ctx context.Context, st *harness.Environment, fast *receiver.Fast, name string) (d drain) {
	count := st.Run.Options.Drained
	due := timing.DueIn(harness.LeadFor(count))
	d.tasks = verify.Numbered{Prefix: name, Count: count, Due: func(int) time.Time { return due }}
	st.ImportNumbered(ctx, d.tasks, "", fast.URL())
	before := harness.OK(fast.Counts())
	harness.Until(ctx, due.Add(-500*time.Millisecond))
	stop := harness.OK(st.Profile(name))
	server, child := st.Server.PID(), fast.Cmd.Process.Pid
	serverBefore, receiverBefore := harness.OK(system.CPUOf(server)), harness.OK(system.CPUOf(child))
	harness.Check(fast.Await(ctx, before.Arrived+count, due, 30*time.Second))
	d.server, d.receiver = harness.OK(system.CPUOf(server))-serverBefore, harness.OK(system.CPUOf(child))-receiverBefore
	d.counts = harness.OK(fast.Counts()).Since(before)
	harness.Check(stop(ctx))
	return d
}

// drainSignedBacklog is drainBacklog while the namespace has a secret that the receiver knows.
func drainSignedBacklog(ctx context.Context, st *harness.Environment, fast *receiver.Fast, name string) (d drain) {
	secret := harness.OK(st.Client.MakeSecret(ctx, wire.SecretInput{}))
	harness.OK(fast.Know(secret.Secret))
	d = drainBacklog(ctx, st, fast, name)
	d.signed = true
	harness.OK(fast.Know())
	harness.Check(st.Client.Do(ctx, http.MethodDelete, "/secrets/"+secret.ID, nil, nil))
	return d
}

// mustDrain prints a drain, checks the promises of every scenario, and returns its
// rate.
func mustDrain(t *harness.Run, d drain, log string) float64 {
	v := t.JudgeNumbered(d.tasks, log)
	if d.signed {
		t.Must(d.counts.RightlySigned(), "signed %d of %d; of those verified, %d were right and %d wrong", d.counts.Signed, d.counts.Arrived, d.counts.Verified, d.counts.Rejected)
	} else {
		t.Must(d.counts.Signed == 0, "signed although there is no secret: %d", d.counts.Signed)
	}
	kind := "deliveries"
	if d.signed {
		kind = "signed deliveries"
	}
	t.Measured(kind, "a second", v.Rate)
	t.Measured(kind+", server", "us each", harness.Each(d.server, v.Arrived))
	t.Note("%s: %.1f us receiver", d.tasks.Prefix, harness.Each(d.receiver, v.Arrived))
	return v.Rate
}
