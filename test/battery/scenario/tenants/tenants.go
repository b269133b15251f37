package tenants

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// OnDirectory: each attack next to a victim, on a server of its own that keeps its
// tasks in a directory.
func OnDirectory(ctx context.Context, t *harness.Run) error { return runAttacks(ctx, t, false) }

// OnRedis: the same on a node of a Redis.
func OnRedis(ctx context.Context, t *harness.Run) error { return runAttacks(ctx, t, true) }

func runAttacks(ctx context.Context, t *harness.Run, onRedis bool) error {
	chosen, err := Choose(t.Options.Attacks)
	if err != nil {
		return err
	}
	lines := []string{tableHead()}
	for _, a := range chosen {
		if onRedis && a.onDirectory {
			continue
		}
		t.Note("%s: %s", a.Name, a.What)
		row, err := carryOutAttack(ctx, t, a, onRedis)
		if err != nil {
			t.Must(false, "%s ended early: %v", a.Name, err)
			lines = append(lines, fmt.Sprintf("%-11s FAIL  %v", a.Name, err))
		} else {
			for _, f := range row.findings() {
				t.Must(f.ok, "%s", f.text)
			}
			lines = append(lines, row.line())
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, line := range lines {
		t.Note("%s", line)
	}
	return nil
}

// carryOutAttack measures one attack, in as many turns as deciding asks for.
func carryOutAttack(ctx context.Context, t *harness.Run, a attack, onRedis bool) (*tenantsRow, error) {
	for turns := []*tenantsRow{}; ; {
		row, err := carryOutOnce(ctx, t, a, fmt.Sprintf("%s-%d", a.Name, len(turns)+1), onRedis)
		if err != nil {
			return nil, err
		}
		reportRow(t, row)
		turns = append(turns, row)
		if counts := deciding(turns); counts != nil {
			return counts, nil
		}
	}
}

// reportRow prints the figures of a turn.
func reportRow(t *harness.Run, row *tenantsRow) {
	t.Note("requests %d, replies %v (0: none), %d MB; the rival's deliveries %d", row.attacker.Requests, row.attacker.Statuses, row.attacker.Bytes>>20, row.delivered)
	for _, s := range []struct {
		name string
		measurement
	}{{"alone", row.alone}, {"attacked", row.beside}} {
		t.Lateness("of a process that only sleeps, "+s.name, s.sleeper)
		t.Lateness("of the victim, "+s.name, s.victim)
	}
}

// carryOutOnce carries one attack out, in a directory of that name.
func carryOutOnce(ctx context.Context, t *harness.Run, a attack, dir string, onRedis bool) (*tenantsRow, error) {
	s, err := prepareAttack(ctx, t, a, dir, onRedis)
	if err != nil {
		return nil, err
	}
	defer s.close()
	order, err := s.makeNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	memory := system.WatchMemory(ctx, s.Server.PID())
	defer memory.End()
	victim := s.StartBystanders(ctx, 20)
	defer victim.Stop()
	timing.Pause(ctx, harness.BystanderDelay)
	row := &tenantsRow{attack: a}
	row.alone = measure(ctx, func() { timing.Pause(ctx, t.Options.Phase/2) })
	if err := s.carryOut(ctx, order, row); err != nil {
		return nil, err
	}
	victim.Stop()
	_, peak, err := s.Server.Memory()
	row.died = err != nil
	if row.died {
		t.Note("the server died; the system killed it for want of memory: %v", s.Server.Group.Kills() > 0)
	} else {
		if err := s.AwaitPromised(ctx, 90*time.Second); err != nil {
			return nil, err
		}
	}
	row.resident = max(memory.End().Peak, peak)
	row.created, row.refused = len(victim.Names), victim.Refused
	e, err := s.Evidence()
	if err != nil {
		return nil, err
	}
	row.judge(e)
	return row, nil
}

// carryOut prepares the attack and lets it last as long as it shall.
func (s *attackRun) carryOut(ctx context.Context, order attackOrder, row *tenantsRow) error {
	attacker, err := startAttack(order)
	if err != nil {
		return err
	}
	defer attacker.Close() //nolint:errcheck // end returns it
	ready, err := attacker.prepared()
	if err != nil {
		return err
	}
	timing.Until(ctx, ready.Due)
	stored := s.storedBytes(ctx)
	stopProfile, err := s.Profile(row.attack.Name)
	if err != nil {
		return err
	}
	row.beside = measure(ctx, func() {
		if err = attacker.strike(); err == nil {
			err = s.last(ctx, ready)
		}
	})
	row.growth = float64(s.storedBytes(ctx)-stored) / row.beside.until.Sub(row.beside.from).Seconds()
	row.beside.until = time.Time{} // later tasks may still suffer
	if err = errors.Join(err, stopProfile(ctx)); err != nil {
		return err
	}
	if row.attacker, err = attacker.end(); err != nil {
		return err
	}
	row.delivered, err = s.delivered()
	return err
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
