package harness

import (
	"cmp"
	"context"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// Phases are the steps of a run between the start of its servers and the
// verdict, in this order. A time of 0 means the default of the environment.
// Nodes have defaults for Drain, Quiet and Stop. A single server has a default
// for Stop only.
type Phases struct {
	Load   *Load         // creates tasks until Attack returns; nil means no load
	WarmUp time.Duration // how long Load runs before Attack
	Attack func()        // nil means no attack
	Drain  time.Duration // how long to wait, at most, for the tasks that were promised
	Quiet  time.Duration // a pause, in which repeats and callbacks after a cancel would arrive
	Stop   time.Duration // within this time each server must end after SIGTERM
}

// Carry carries out the phases. When it returns, the logs are complete.
func (e *Environment) Carry(ctx context.Context, p Phases) {
	if p.Attack != nil {
		e.attack(ctx, p)
	}
	if wait := cmp.Or(p.Drain, e.defaults.Drain); wait > 0 {
		e.AwaitPromised(ctx, wait)
	}
	timing.Pause(ctx, cmp.Or(p.Quiet, e.defaults.Quiet))
	Check(e.StopAll(cmp.Or(p.Stop, e.defaults.Stop)))
	e.endJitter()
}

func (e *Environment) attack(ctx context.Context, p Phases) {
	if p.Load != nil {
		var loading context.Context
		loading, p.Load.Quit = context.WithCancel(ctx)
		defer timing.InBackground(loading, p.Load.Run)()
		defer p.Load.Quit()
	}
	Pause(ctx, p.WarmUp)
	p.Attack()
}

// Conclude carries out the phases, and then calls Judge.
func (e *Environment) Conclude(ctx context.Context, p Phases) verify.Verdict {
	e.Carry(ctx, p)
	return e.Judge()
}

// Judge reads the logs and checks the promises of every scenario. It returns the
// verdict, so that a scenario can check further promises.
func (e *Environment) Judge() verify.Verdict {
	v, t := verify.Check(e.Evidence()), e.Run
	t.Note("accepted %d, arrived %d", v.Accepted, v.Arrived)
	t.Must(len(v.Lost) == 0, "lost %d%s", len(v.Lost), verify.Examples(v.Lost))
	t.Must(len(v.Early) == 0, "early %d%s", len(v.Early), verify.Examples(v.Early))
	t.Must(len(v.Unexplained) == 0, "duplicates without a fault %d%s", len(v.Unexplained), verify.Examples(v.Unexplained))
	t.Must(len(v.OtherID) == 0, "duplicates under another webhook-id %d%s", len(v.OtherID), verify.Examples(v.OtherID))
	if e.Endpoints != nil {
		t.Lateness("of a process that only sleeps, in that time", e.Idle)
		t.Must(v.MostPerFault <= MaxInFlight, "faults %d, duplicates %d, by one fault at most %d; a node has at most %d in flight", v.Faults, v.Duplicates, v.MostPerFault, MaxInFlight)
		t.Lateness("of first arrivals, after faults too", v.Late)
	}
	return v
}
