package postgres

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// others schedules 200 tasks a second for a phase, and returns how late they were.
func others(ctx context.Context, n *harness.Environment, queue, prefix string) []time.Duration {
	const perSecond = 200
	first := timing.DueIn(3 * time.Second)
	phase := n.Run.Options.Phase
	all := n.ScheduleIn(ctx, queue, perSecond*int(phase/time.Second), prefix, func(i int) time.Time { return first.Add(time.Duration(i) * time.Second / perSecond) })
	n.Receiver.AwaitAll(ctx, all, phase+20*time.Second)
	return verify.Check(n.Evidence().DueWithin(first, first.Add(phase))).Late
}

// Locks: a transaction of a user locks 1,000 tasks that become due, for as long as the
// lateness of other tasks is measured.
func Locks(ctx context.Context, t *harness.Run) {
	s := start(ctx, t)
	n := t.PrepareNodes(".", 2, s.URL())
	n.StartAll(ctx)
	alone := t.Lateness("alone", others(ctx, n, "", "alone"))
	due := timing.DueIn(3 * time.Second)
	n.Schedule(ctx, 1000, "locked", func(int) time.Time { return due })
	user := harness.OK(pgx.Connect(ctx, s.URL()))
	t.Cleanup(func() { _ = user.Close(ctx) })
	harness.OK(user.Exec(ctx, "BEGIN"))
	harness.OK(user.Exec(ctx, "SELECT FROM task WHERE key LIKE 'default/locked-%' FOR UPDATE"))
	for _, queue := range []string{"", "other"} { // locked tasks are in the first
		late := t.Lateness(fmt.Sprintf("next to 1,000 locked tasks, queue %q", queue), others(ctx, n, queue, "next"+queue))
		t.Must(late-alone <= 10*time.Millisecond, "p99 shifts by %s, at most 10 ms", verify.Millis(late-alone))
	}
	held := n.Receiver.Arrivals("locked-0") == 0
	harness.OK(user.Exec(ctx, "ROLLBACK"))
	t.Must(held, "the tasks stay locked")
	n.Conclude(ctx, harness.Phases{})
}

const lanes = 5000

// Standing: -standing tasks in 5,000 lanes that are due later, and a tenth as many in one
// lane that are due at once, next to the tasks of other queues. The nodes have added up the
// counts of these creates before.
func Standing(ctx context.Context, t *harness.Run) {
	s := start(ctx, t, "shared_buffers=512MB", "max_wal_size=4GB")
	n := t.PrepareNodes(".", 2, s.URL())
	fast := n.StartFast("127.0.0.1:0")
	standing, overdue := t.Options.Standing, max(t.Options.Standing/10, 200_000) // more than are delivered meanwhile
	counted := func() {
		for psql(ctx, s, "SELECT count(*) > 500 FROM news") != "f" {
			harness.Pause(ctx, time.Second)
		}
		psql(ctx, s, "VACUUM ANALYZE") // or autovacuum would read the whole table during the measurement
	}
	began, now := time.Now(), task.CeilMillis(time.Now().Add(-time.Hour))
	fill(ctx, s.URL(), "standing-", standing, now, func(i int) (string, string, task.Millis) {
		return fast.URL(), fmt.Sprint("lane-", i%lanes), now + 24*3_600_000 + task.Millis(i)
	})
	took := time.Since(began)
	size := harness.OK(strconv.Atoi(psql(ctx, s, "SELECT pg_total_relation_size('task')")))
	t.Note("made %d tasks in %.0f s, %d bytes each", standing, took.Seconds(), size/standing)
	began = time.Now()
	n.StartAll(ctx)
	counted()
	t.Note("the nodes read the lanes and the counts in %.0f s", time.Since(began).Seconds())
	due := time.Now().Add(20*time.Second + time.Duration(overdue)*100*time.Microsecond)
	fill(ctx, s.URL(), "overdue-", overdue, now, func(int) (string, string, task.Millis) { return fast.URL(), "overdue", task.CeilMillis(due) })
	counted()
	psql(ctx, s, "CHECKPOINT")
	t.Must(time.Until(due) > 0, "ready %.0f s before they are due", time.Until(due).Seconds())
	harness.Pause(ctx, time.Until(due))
	const written = "SELECT wal_bytes::bigint, wal_fpi FROM pg_stat_wal"
	before, from := psql(ctx, s, written), time.Now()
	busy := timing.Busy()
	late := t.Lateness("of other queues", others(ctx, n, "others", "others"))
	c := harness.OK(fast.Counts())
	t.Note("meanwhile the processors were busy for %.0f %%, and PostgreSQL wrote WAL (bytes, full pages) from %s to %s in %.0f s", 100*busy(), before, psql(ctx, s, written), time.Since(from).Seconds())
	t.Must(c.Arrived > 0 && c.Arrived < overdue, "of %d overdue tasks %d were delivered in that time", overdue, c.Arrived)
	t.Must(late <= 50*time.Millisecond, "p99 %s, at most 50 ms", verify.Millis(late))
	n.StopWith(fast)
}

// fill creates tasks by a clock of its own.
func fill(ctx context.Context, url, prefix string, count int, now task.Millis, of func(i int) (url, queue string, due task.Millis)) {
	s := harness.OK(pgstore.Open(ctx, pgstore.Config{URL: url, Shared: store.Shared{CallersClock: true}}))
	defer func() { harness.Check(s.Close()) }()
	const most = 1000
	harness.Check(timing.InParallel((count+most-1)/most, 4, func(b int) error {
		var changes []task.Change
		for i := b * most; i < min((b+1)*most, count); i++ {
			spec := task.DefaultSpec()
			spec.Name, spec.ID = fmt.Sprint(prefix, i), task.NewID(now)
			spec.Request.URL, spec.Queue, spec.When.At = of(i)
			if err := spec.Validate(now); err != nil {
				return err
			}
			changes = append(changes, task.Create{Spec: spec})
		}
		replies, err := s.Transit(ctx, now, store.Changes(changes))
		for _, r := range replies {
			err = cmp.Or(err, r.Err)
		}
		return err
	}))
}

// Idle measures nodes that have no work, and how late tasks are if no node can notify the
// others.
func Idle(ctx context.Context, t *harness.Run) {
	s := start(ctx, t, "shared_preload_libraries=pg_stat_statements", "autovacuum_naptime=1h", "checkpoint_timeout=1h")
	psql(ctx, s, "CREATE EXTENSION pg_stat_statements; CREATE ROLE node LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO node; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO node; REVOKE EXECUTE ON FUNCTION pg_notify FROM public")
	const nodes = 3
	n := t.PrepareNodes(".", nodes, strings.Replace(s.URL(), "postgres@", "node@", 1))
	n.StartAll(ctx)
	harness.Pause(ctx, 40*time.Second) // until they rest
	read := func() (wal, statements, transactions int) {
		const sql = `SELECT (pg_current_wal_lsn() - '0/0')::bigint, sum(calls)::bigint, (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()) FROM pg_stat_statements`
		harness.OK(fmt.Sscanf(strings.ReplaceAll(psql(ctx, s, sql), "|", " "), "%d %d %d", &wal, &statements, &transactions))
		return wal, statements, transactions
	}
	began := time.Now()
	wal, statements, transactions := read()
	harness.Pause(ctx, t.Options.Watched)
	wal2, statements2, transactions2 := read()
	each := func(n int) float64 { return float64(n) / time.Since(began).Seconds() / nodes }
	t.Must(each(transactions2-transactions) <= 1.1, "an idle node makes %.2f transactions a second, at most 1.1; statements %.2f", each(transactions2-transactions), each(statements2-statements))
	megabytes := each(wal2-wal) * 3600 / (1 << 20)
	t.Must(megabytes <= 4, "and %.1f MB of WAL an hour, at most 4", megabytes)

	mute := func(what string, count int, pause, bound time.Duration) {
		from := timing.DueIn(0)
		for i := range count {
			harness.Pause(ctx, pause)
			name, due := fmt.Sprint(what, "-", i), timing.DueIn(100*time.Millisecond)
			harness.OK(n.Endpoints.Create(ctx, harness.Task(name, n.Receiver.URL(), due)))
			harness.Check(n.Promised(name, due))
			if pause > time.Second {
				n.Receiver.AwaitAll(ctx, []string{name}, 10*time.Second)
			}
		}
		n.AwaitPromised(ctx, 10*time.Second)
		late := n.Evidence().DueWithin(from, time.Time{}).Delays().Untouched
		t.Lateness("without notifications, "+what, late)
		worst := verify.Percentile(late, 100)
		t.Must(worst <= bound+100*time.Millisecond, "the latest %s, at most %v and 100 ms of the machine", verify.Millis(worst), bound)
	}
	mute("busy", 500, 20*time.Millisecond, 250*time.Millisecond)
	mute("idle", 5, 12*time.Second, 1100*time.Millisecond)
	n.Conclude(ctx, harness.Phases{Quiet: time.Second})
}

// Dump restores a copy, which pg_dump makes under load, in another PostgreSQL. There,
// each task fires that was not delivered before the dump.
func Dump(ctx context.Context, t *harness.Run) {
	s, elsewhere := start(ctx, t), start(ctx, t)
	psql(ctx, elsewhere, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	n := t.PrepareNodes("first", 2, s.URL())
	n.StartAll(ctx)
	load := &harness.Load{Environment: n, Target: n.Endpoints, Rate: loadRate, DueWithin: 20 * time.Second}
	var from, to time.Time
	file := t.Path("dump")
	n.Conclude(ctx, harness.Phases{Load: load, WarmUp: 5 * time.Second, Quiet: time.Second, Attack: func() {
		from = time.Now()
		run(ctx, "pg_dump", "-d", s.URL(), "-f", file)
		to = time.Now()
		harness.Pause(ctx, 3*time.Second)
	}})
	e := n.Evidence()
	run(ctx, "psql", "-qX", "-v", "ON_ERROR_STOP=1", "-d", elsewhere.URL(), "-f", file)
	copied := t.PrepareNodes("second", 2, elsewhere.URL())
	copied.StartAll(ctx) // its tasks call the receiver of the first one, which is still open
	harness.Pause(ctx, 30*time.Second)
	harness.Check(copied.StopAll(25 * time.Second))
	first, again := map[string]time.Time{}, map[string]bool{}
	for _, a := range n.Evidence().Arrived[:len(e.Arrived)] {
		first[a.Name] = a.At
	}
	for _, a := range n.Evidence().Arrived[len(e.Arrived):] {
		again[a.Name] = true
	}
	var missing, done []string
	twice := 0
	for _, a := range e.Accepted {
		at := first[a.Name]
		switch {
		case again[a.Name] && at.Before(from.Add(-time.Second)):
			done = append(done, a.Name)
		case again[a.Name]:
			twice++
		case a.At.Before(from) && at.After(to.Add(time.Second)):
			missing = append(missing, a.Name)
		}
	}
	t.Must(len(missing) == 0 && twice > 0, "the dump took %s; missing in the copy %d%s; delivered by both %d", verify.Millis(to.Sub(from)), len(missing), verify.Examples(missing), twice)
	t.Must(len(done) == 0, "delivered again although delivered a second before the dump: %d%s", len(done), verify.Examples(done))
}

// run runs a program that must not fail.
func run(ctx context.Context, name string, args ...string) {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		harness.Fatalf("%s: %w: %s", name, err, out)
	}
}
