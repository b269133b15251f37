package postgres

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/journal"
	"github.com/foliot/foliot/test/battery/harness/system"
	"github.com/foliot/foliot/test/battery/harness/timing"
	"github.com/foliot/foliot/test/battery/verify"
)

// shop starts a PostgreSQL that has tables of a user and, in the schema foliot, a store.
func shop(ctx context.Context, t *harness.Run, settings ...string) (*pgtest.Server, *pgxpool.Pool) {
	s := start(ctx, t, append(settings, "track_commit_timestamp=on")...)
	harness.Check(pgstore.Migrate(ctx, inSchema(s.URL())))
	pool := harness.OK(pgxpool.New(ctx, s.URL()))
	t.Cleanup(pool.Close)
	for _, sql := range []string{
		"CREATE TABLE subject (name text PRIMARY KEY)", "CREATE TABLE change (id bigserial, name text, version bigint, state text)",
		fmt.Sprintf("INSERT INTO subject SELECT 'subject-' || i FROM generate_series(0, %d) i", subjects-1),
	} {
		harness.OK(pool.Exec(ctx, sql))
	}
	return s, pool
}

// calls are the times of the callbacks of each version.
type calls struct {
	mu  sync.Mutex // guards all
	all map[int64][]time.Time
}

func (c *calls) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	at := time.Now()
	version, _ := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/"), 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[version] = append(c.all[version], at)
}

// Transactions makes random transactions of two clients in each language. Some roll back,
// and the clients and PostgreSQL are killed. The tasks of committed transactions are
// delivered, and no others.
func Transactions(ctx context.Context, t *harness.Run) {
	for _, language := range languages(ctx, t) {
		t.Part(language, func() { transactions(ctx, t, language) })
	}
}

func transactions(ctx context.Context, t *harness.Run, language string) {
	s, pool := shop(ctx, t)
	n := t.PrepareNodes(language, 2, inSchema(s.URL()))
	n.StartAll(ctx)
	received := &calls{all: map[int64][]time.Time{}}
	l := harness.OK(net.Listen("tcp", "127.0.0.1:0"))
	web := &http.Server{Handler: received, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = web.Serve(l) }() // ends with Close
	t.Cleanup(func() { _ = web.Close() })

	self := harness.OK(os.Executable())
	clients := make([]*system.Child, 2)
	begin := func(i int) {
		cmd := exec.Command(self, Command, language, s.URL(), "http://"+l.Addr().String()+"/", n.Path("outcomes"))
		cmd.SysProcAttr = system.ChildAttributes()
		clients[i] = harness.OK(system.StartChild("a client", cmd))
	}
	for i := range clients {
		begin(i)
		t.Cleanup(func() { _ = clients[i].Cmd.Process.Kill() })
	}
	kills := 0
	var outcomes []outcome
	for len(outcomes) < t.Options.Transactions {
		harness.Pause(ctx, between(t, 2*time.Second, 5*time.Second))
		if kills++; kills%4 == 0 {
			s.Kill()
			harness.Check(s.Restart())
		} else {
			c := clients[kills%2]
			_ = c.Cmd.Process.Kill()
			_ = c.Close() // killed
			begin(kills % 2)
		}
		outcomes = harness.OK(journal.Read[outcome](n.Path("outcomes")))
	}
	for _, c := range clients {
		_ = c.Close() // it may have been killed before it was ready
	}
	v := judge(ctx, t, pool, received, 30*time.Second)
	harness.Check(n.StopAll(25 * time.Second))
	errs := map[string]int{}
	for _, o := range outcomes {
		errs[o.State]++
	}
	t.Note("%s: transactions %d, kills %d, by error %v", language, len(outcomes), kills, errs)
	t.Must(v.committed > 0 && len(v.lost) == 0, "%s: versions committed %d, delivered %d, lost %d%s", language, v.committed, v.delivered, len(v.lost), verify.Examples(v.lost))
	t.Must(len(v.wrong) == 0, "%s: delivered although never committed, or after the commit of their end: %d%s", language, len(v.wrong), verify.Examples(v.wrong))
	t.Must(errs["40P01"] == 0, "%s: users that were victims of deadlocks: %d", language, errs["40P01"])
	t.Must(v.repeated <= harness.MaxInFlight*(kills/4), "%s: delivered twice %d, by kills of PostgreSQL", language, v.repeated)
}

// languages returns Go and, if the store has its functions, SQL.
func languages(ctx context.Context, t *harness.Run) []string {
	has := false
	t.Part("look for functions", func() {
		_, pool := shop(ctx, t)
		harness.Check(pool.QueryRow(ctx, "SELECT to_regproc('foliot.touch') IS NOT NULL").Scan(&has))
	})
	if has {
		return []string{goLanguage, sqlLanguage}
	}
	return []string{goLanguage}
}

// verdict compares the callbacks with the committed changes.
type verdict struct {
	committed, delivered, repeated int
	lost, wrong                    []string
}

// end is a committed change that ended a version.
type end struct {
	state string
	at    time.Time // of the commit
}

// judge waits, at most for patience, until all versions that must arrive have arrived.
func judge(ctx context.Context, t *harness.Run, pool *pgxpool.Pool, received *calls, patience time.Duration) (v verdict) {
	ends := map[int64]*end{} // of committed versions; nil: none
	last, of := int64(0), ""
	rows := harness.OK(pool.Query(ctx, "SELECT name, version, state, pg_xact_commit_timestamp(xmin) FROM change ORDER BY name, id"))
	type change struct {
		Name    string
		Version int64
		State   string
		At      time.Time
	}
	for _, c := range harness.OK(pgx.CollectRows(rows, pgx.RowToStructByPos[change])) {
		if c.Name != of {
			last, of = 0, c.Name
		}
		if last != 0 {
			ends[last] = &end{c.State, c.At}
		} else if c.State == waiting {
			t.Must(false, "%s waited, although nothing was committed before", c.Name)
		}
		if last = c.Version; last != 0 {
			ends[last] = nil
		}
	}
	must := func(e *end) bool { return e == nil || e.state == none }
	for deadline := time.Now().Add(patience); ; {
		v = verdict{committed: len(ends)}
		received.mu.Lock()
		for version, e := range ends {
			if must(e) && len(received.all[version]) == 0 {
				v.lost = append(v.lost, fmt.Sprintf("%d, ended %+v", version, e))
			}
		}
		for version, times := range received.all {
			v.delivered++
			v.repeated += len(times) - 1
			if e, committed := ends[version]; !committed || e != nil && e.state == waiting && slices.ContainsFunc(times, e.at.Before) {
				v.wrong = append(v.wrong, fmt.Sprintf("%d at %v, ended %+v", version, times, e))
			}
		}
		received.mu.Unlock()
		if len(v.lost) == 0 && time.Now().After(deadline.Add(5*time.Second-patience)) || time.Now().After(deadline) || !timing.Pause(ctx, 500*time.Millisecond) {
			return v
		}
	}
}

// Cancels cancels tasks in transactions at due ±5 ms. None may arrive after the commit.
func Cancels(ctx context.Context, t *harness.Run) {
	for _, language := range languages(ctx, t) {
		t.Part(language, func() { cancels(ctx, t, language) })
	}
}

func cancels(ctx context.Context, t *harness.Run, language string) {
	s, _ := shop(ctx, t)
	n := t.PrepareNodes("cancels-"+language, 2, inSchema(s.URL()))
	n.StartAll(ctx)
	c := harness.OK(openClient(ctx, language, s.URL()+"&pool_max_conns=32"))
	t.Cleanup(func() { harness.Check(c.close()) })
	const perSecond = 200
	first := timing.DueIn(5 * time.Second)
	due := func(i int) time.Time { return first.Add(time.Duration(i) * time.Second / perSecond) }
	all := n.Schedule(ctx, t.Options.Transactions/10, "cancel", due)
	statuses := make([]int, len(all))
	var group sync.WaitGroup
	for i, name := range all {
		harness.Until(ctx, due(i).Add(between(t, -8*time.Millisecond, 2*time.Millisecond))) // the transaction takes some milliseconds
		group.Go(func() {
			tx, err := c.pool.Begin(ctx)
			if err != nil {
				return
			}
			state, err := c.cancel(ctx, tx, name)
			if err != nil || tx.Commit(ctx) != nil {
				_ = tx.Rollback(ctx) // it is not cancelled
				return
			}
			statuses[i] = map[string]int{none: http.StatusConflict, waiting: http.StatusOK, running: http.StatusAccepted}[state]
			_ = n.Cancelled.Append(verify.Cancelled{Name: name, Status: statuses[i], At: time.Now()}) // a missing line is a lost task below
		})
	}
	group.Wait()
	v := n.Conclude(ctx, harness.Phases{Quiet: 2 * time.Second})
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	t.Note("%s: the tasks were waiting %d, running %d, delivered %d; errors %d", language, count[http.StatusOK], count[http.StatusAccepted], count[http.StatusConflict], count[0])
	t.Must(count[http.StatusOK] > len(all)/20 && count[http.StatusOK] < len(all) && count[0] == 0, "%s: the race was a race: some cancels won, some lost", language)
	t.Must(len(v.AfterCancel) == 0, "%s: delivered after the commit: %d%s", language, len(v.AfterCancel), verify.Examples(v.AfterCancel))
	t.Must(v.Duplicates == 0, "%s: duplicates %d", language, v.Duplicates)
}
