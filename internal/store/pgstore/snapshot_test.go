package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// While another transaction holds an old snapshot, no dead row can be removed. What a node
// reads again and again passes none of those that it has left behind, also by a plan that was
// made while the tables were empty.
func TestANodePassesNoDeadRowsOfAnOldSnapshot(t *testing.T) {
	server := pgtest.New(t, "autovacuum=off") // it would make new plans
	fatal.If(t, Migrate(t.Context(), server.URL()))
	s := openNodes(t, server.URL(), "a")[0]
	c, err := s.pool.Acquire(t.Context())
	fatal.If(t, err)
	defer c.Release()
	exec := func(sql string) {
		t.Helper()
		_, err := c.Exec(t.Context(), sql)
		fatal.If(t, err)
	}
	exec("SET plan_cache_mode = force_generic_plan")
	shards := "'{0,1,2,3,4,5,6,7}'"
	const from = "pg_current_snapshot()::text"
	reads := map[string]struct{ sql, types, args string }{
		"poll":  {readNews, "smallint[], text, text", "(" + shards + ", " + from + ", '')"},
		"fold":  {foldNews, "smallint[], text, text[], text, int", "(" + shards + ", " + from + ", array_fill(''::text, '{8}'), " + from + ", 100)"},
		"tasks": {readRecords, "text[], bool[]", "('{default/0-1,default/0-2}', '{f,f}')"},
	}
	for name, r := range reads {
		exec("PREPARE " + name + "(" + r.types + ") AS " + s.schema.in(r.sql))
		exec("EXECUTE " + name + r.args)
	}
	old, err := pgx.Connect(t.Context(), server.URL())
	fatal.If(t, err)
	defer func() { fatal.If(t, old.Close(context.Background())) }()
	_, err = old.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_current_snapshot()")
	fatal.If(t, err)

	pages := func(name string) int {
		t.Helper()
		tx, err := c.Begin(t.Context()) // a fold deletes
		fatal.If(t, err)
		defer func() { fatal.If(t, tx.Rollback(context.Background())) }()
		var text []byte
		fatal.If(t, tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE "+name+reads[name].args).Scan(&text))
		var plans []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
			}
		}
		fatal.If(t, json.Unmarshal(text, &plans))
		return plans[0].Plan.Hit + plans[0].Plan.Read
	}
	few := map[string]int{}
	for round := range 20 {
		live(t, s, round, 200)
		fatal.If(t, s.poll(t.Context()))
		fatal.If(t, s.fold(t.Context()))
		for name := range reads {
			switch n := pages(name); round {
			case 1:
				few[name] = n
			case 19:
				t.Logf("%s: %d pages, and %d at first", name, n, few[name])
				if n > 2*few[name]+20 {
					t.Errorf("%s reads %d pages after %d tasks, and %d after 400", name, n, 200*20, few[name])
				}
			}
		}
	}
	exec("ANALYZE") // without a lease
	for name, sql := range map[string]string{"write": writeRows[0], "change": changeRows[1], "extend": extendRows, "records": readRecords} {
		d, err := c.Conn().Prepare(t.Context(), name, s.schema.in(sql))
		fatal.If(t, err)
		var plan []any
		nulls := strings.TrimPrefix(strings.Repeat(", NULL", len(d.ParamOIDs)), ", ")
		fatal.If(t, c.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) EXECUTE "+name+"("+nulls+")").Scan(&plan))
		found := scans(plan)
		if _, known := found["task"]; !known {
			t.Errorf("%s reads %v", name, found)
		}
		for table, keyed := range found {
			if !keyed && (table == "task" || table == "lease") {
				t.Errorf("%s reads all of an index of %s", name, table)
			}
		}
	}
}

// scans returns the tables that a plan reads, and whether all scans of a table have a condition on
// an index.
func scans(plan any) map[string]bool {
	all := map[string]bool{}
	add := func(table string, keyed bool) {
		before, known := all[table]
		all[table] = keyed && (before || !known)
	}
	switch p := plan.(type) {
	case []any:
		for _, part := range p {
			for table, keyed := range scans(part) {
				add(table, keyed)
			}
		}
	case map[string]any:
		if node, _ := p["Node Type"].(string); strings.HasSuffix(node, "Scan") && p["Relation Name"] != nil {
			add(p["Relation Name"].(string), p["Index Cond"] != nil || p["Recheck Cond"] != nil)
		}
		for _, part := range p {
			for table, keyed := range scans(part) {
				add(table, keyed)
			}
		}
	}
	return all
}

// live creates, claims and delivers tasks.
func live(t *testing.T, s *Store, round, size int) {
	t.Helper()
	var changes []task.Change
	var claims []task.Claim
	var ends []task.Settlement
	now := task.CeilMillis(s.Latest())
	for i := range size {
		spec := tasktest.Spec(fmt.Sprint(round, "-", i), now)
		token := task.Token(spec.Name)
		changes = append(changes, task.Create{Spec: spec})
		claims = append(claims, task.Claim{Key: spec.Key, Token: token, Until: now + 30_000})
		ends = append(ends, task.Settlement{Key: spec.Key, Token: token, Outcome: task.Outcome{Verdict: task.Success}})
	}
	step := func(steps []store.Step) {
		t.Helper()
		replies, err := s.Transit(t.Context(), max(task.FloorMillis(s.Now()), now), steps)
		fatal.If(t, err)
		for _, r := range replies {
			fatal.If(t, r.Err)
		}
	}
	step(store.Changes(changes))
	one, err := s.Get(t.Context(), claims[0].Key)
	fatal.If(t, err)
	for i := range claims {
		claims[i].Lane = one.Lane()
	}
	step(store.Claims(claims))
	step(store.Settlements(ends))
}
