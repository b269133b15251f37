package namespaces

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// OnDirectory: each attack next to a victim, on a server of its own that keeps its
// tasks in a directory.
func OnDirectory(ctx context.Context, t *harness.Run) { runAttacks(ctx, t, false) }

// OnRedis: the same on a node of a Redis.
func OnRedis(ctx context.Context, t *harness.Run) { runAttacks(ctx, t, true) }

func runAttacks(ctx context.Context, t *harness.Run, onRedis bool) {
	chosen := harness.OK(Choose(t.Options.Attacks))
	lines := []string{tableHead()}
	for _, a := range chosen {
		if onRedis && a.onDirectory {
			continue
		}
		t.Note("%s: %s", a.Name, a.What)
		var row *attackRow
		err := t.Try(func() { row = carryOutAttack(ctx, t, a, onRedis) })
		if err != nil {
			t.Must(false, "%s ended early: %v", a.Name, err)
			lines = append(lines, fmt.Sprintf("%-11s FAIL  %v", a.Name, err))
		} else {
			for _, f := range row.findings() {
				t.Must(f.ok, "%s", f.text)
			}
			lines = append(lines, row.line())
		}
		harness.Check(ctx.Err())
	}
	for _, line := range lines {
		t.Note("%s", line)
	}
}

// carryOutAttack measures one attack, in as many turns as deciding needs.
func carryOutAttack(ctx context.Context, t *harness.Run, a attack, onRedis bool) *attackRow {
	for turns := []*attackRow{}; ; {
		dir, row := fmt.Sprintf("%s-%d", a.Name, len(turns)+1), &attackRow{attack: a}
		t.Part(dir, func() { carryOutOnce(ctx, t, row, dir, onRedis) })
		reportRow(t, row)
		turns = append(turns, row)
		if counts := deciding(turns); counts != nil {
			return counts
		}
	}
}

// reportRow prints the figures of a turn.
func reportRow(t *harness.Run, row *attackRow) {
	t.Note("requests %d, replies %v (0: none), %d MB; the rival's deliveries %d", row.attacker.Requests, row.attacker.Statuses, row.attacker.Bytes>>20, row.delivered)
	for _, s := range []struct {
		name string
		measurement
	}{{"alone", row.alone}, {"attacked", row.beside}} {
		t.Lateness("of a process that only sleeps, "+s.name, s.sleeper)
		t.Lateness("of the victim, "+s.name, s.victim)
	}
}

// carryOutOnce carries out one attack, in a directory of that name, and fills
// in its row.
func carryOutOnce(ctx context.Context, t *harness.Run, row *attackRow, dir string, onRedis bool) {
	s := prepareAttack(ctx, t, row.attack, dir, onRedis)
	order := s.makeNamespaces(ctx)
	memory := system.WatchMemory(ctx, s.Server.PID())
	defer memory.End()
	victim := s.StartBystanders(ctx, 20)
	defer victim.Stop()
	timing.Pause(ctx, harness.BystanderDelay)
	row.alone = measure(ctx, func() { timing.Pause(ctx, t.Options.Phase/2) })
	s.carryOut(ctx, order, row)
	victim.Stop()
	_, peak, err := s.Server.Memory()
	row.died = err != nil
	if row.died {
		t.Note("the server died; the system killed it for want of memory: %v", s.Server.Group.Kills() > 0)
	} else {
		s.AwaitPromised(ctx, 90*time.Second)
	}
	row.resident = max(memory.End().Peak, peak)
	row.created, row.refused = len(victim.Names), victim.Refused
	row.judge(s.Evidence())
}

// carryOut prepares the attack and runs it for its duration.
func (r *attackRun) carryOut(ctx context.Context, order attackOrder, row *attackRow) {
	attacker := harness.OK(startAttack(order))
	defer attacker.Close() //nolint:errcheck // end returns it
	ready := harness.OK(attacker.prepared())
	timing.Until(ctx, ready.Due)
	stored := r.storedBytes(ctx)
	stopProfile := harness.OK(r.Profile(row.attack.Name))
	row.beside = measure(ctx, func() {
		harness.Check(attacker.strike())
		r.last(ctx, ready)
	})
	row.growth = float64(r.storedBytes(ctx)-stored) / row.beside.until.Sub(row.beside.from).Seconds()
	row.beside.until = time.Time{} // later tasks may still suffer
	harness.Check(stopProfile(ctx))
	row.attacker = harness.OK(attacker.end())
	row.delivered = r.delivered()
}

// measure watches a process that only sleeps, while do runs.
func measure(ctx context.Context, do func()) (s measurement) {
	machine := system.WatchJitter(ctx)
	s.from = time.Now()
	do()
	s.until = time.Now()
	s.sleeper = machine.End()
	return s
}
