package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// functions is a store, with a connection of a program that calls its SQL functions.
type functions struct {
	*Store
	*pgx.Conn
	t *testing.T
}

// openFunctions opens a store that applies operations only when it reads a task, or
// when applied is called.
func openFunctions(t *testing.T) *functions {
	t.Helper()
	s := opened(t).(*Store)
	t.Cleanup(func() { fatal.If(t, s.Close()) })
	return &functions{s, client(t, s), t}
}

// client returns the connection of a program.
func client(t *testing.T, s *Store) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), s.config.URL)
	fatal.If(t, err)
	t.Cleanup(func() { fatal.If(t, c.Close(context.Background())) })
	return c
}

// rowQuerier is a connection or a transaction.
type rowQuerier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// ask returns the result of a function.
func ask(t *testing.T, c rowQuerier, call string, args ...any) (result string) {
	t.Helper()
	fatal.If(t, c.QueryRow(t.Context(), "SELECT "+call, args...).Scan(&result))
	return result
}

func (f *functions) ask(call string, args ...any) string {
	f.t.Helper()
	return ask(f.t, f.Conn, call, args...)
}

// get returns a task as clients see it, nil if there is none.
func (f *functions) get(key task.Key) *task.Task {
	f.t.Helper()
	got, err := f.Get(f.t.Context(), key)
	if !errors.Is(err, task.ErrNotFound) {
		fatal.If(f.t, err)
	}
	return got
}

// applied writes all pending operations.
func (f *functions) applied() {
	f.t.Helper()
	fatal.If(f.t, f.surveyPending(f.t.Context(), f.numbers()))
	keys, _ := f.unapplied.Take()
	fatal.If(f.t, f.applySome(f.t.Context(), keys, store.Settlement))
	if left := f.number("SELECT count(*) FROM task WHERE pending IS NOT NULL"); left > 0 {
		f.t.Fatalf("%d tasks still have pending operations", left)
	}
}

func (f *functions) number(sql string, args ...any) (n int) {
	f.t.Helper()
	fatal.If(f.t, f.Conn.QueryRow(f.t.Context(), sql, args...).Scan(&n))
	return n
}

// change makes a change of the API.
func (f *functions) change(c task.Change) task.Result {
	f.t.Helper()
	replies, err := f.Transit(f.t.Context(), task.CeilMillis(time.Now()), store.Changes([]task.Change{c}))
	fatal.If(f.t, err)
	fatal.If(f.t, replies[0].Err)
	return replies[0].Result
}

// claim claims a task in its present lane.
func (f *functions) claim(name string, token task.Token) error {
	f.t.Helper()
	due := f.get(tasktest.Key(name))
	now := max(task.CeilMillis(time.Now()), due.Due) // PostgreSQL rounds it up
	replies, err := f.Transit(f.t.Context(), now, store.Claims([]task.Claim{tasktest.Claim(due, token, now+60_000)}))
	fatal.If(f.t, err)
	return replies[0].Err
}

func (f *functions) settle(name string, token task.Token) {
	f.t.Helper()
	replies, err := f.Transit(f.t.Context(), task.CeilMillis(time.Now()), store.Settlements([]task.Settlement{{Key: tasktest.Key(name), Token: token, Outcome: task.Outcome{Verdict: task.Success}}}))
	fatal.If(f.t, err)
	fatal.If(f.t, replies[0].Err)
}

// configure makes an edit of the settings.
func (f *functions) configure(e settings.Edit) error {
	f.t.Helper()
	replies, err := f.Configure(f.t.Context(), task.CeilMillis(time.Now()), []settings.Edit{e})
	fatal.If(f.t, err)
	return replies[0].Err
}

func TestHashesOfSQLAreThoseOfGo(t *testing.T) {
	f := openFunctions(t)
	for i := range 200 {
		key := task.Key{Namespace: fmt.Sprint("namespace-", rand.Int64()), Name: fmt.Sprint("name-", rand.Int64(), []string{"", "@2026-11-30T09:00:00Z"}[i%2])}
		if got, want := f.number("SELECT shard_of($1, $2)", key.Namespace, key.Name), int(sqltask.Shard(key, f.shards)); got != want {
			t.Errorf("%v is in shard %d, and in Go in %d", key, got, want)
		}
		var lock int64
		fatal.If(t, f.Conn.QueryRow(t.Context(), "SELECT hash('2//' || $1)", key.Namespace).Scan(&lock))
		if field := (settings.SettingKey{Kind: settings.NamespaceKind, Name: key.Namespace}).Field(); lock != lockNamespace(field) {
			t.Errorf("another lock of %s", field)
		}
	}
}

// A put by SQL leaves the record that the same put by Go leaves, whatever it replaces,
// before and after a node has written it.
func TestAPutBySQLEqualsAPutByGo(t *testing.T) {
	f := openFunctions(t)
	fatal.If(t, f.configure(settings.PutQueue{Queue: settings.QueueSettings{Namespace: task.DefaultNamespace, Name: "mails", Timeout: 7 * time.Second, OnDead: "https://dead.example/"}}))
	at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	edit := func(edits ...func(*task.Spec)) []func(*task.Spec) {
		return append([]func(*task.Spec){tasktest.Bodiless}, edits...)
	}
	due := func(s *task.Spec) { s.When = task.When{At: task.CeilMillis(at)} }
	body := func(kind task.BodyKind, text string) func(*task.Spec) {
		return func(s *task.Spec) { s.Request.BodyKind, s.Request.Body = kind, []byte(text) }
	}
	large := strings.Repeat("x", 3<<10)
	for i, row := range []struct {
		args  string
		edits []func(*task.Spec)
	}{
		{"delay => '30 min'", edit(func(s *task.Spec) { s.When = task.When{Relative: true, Delay: 30 * time.Minute} })},
		{"at => $2", edit(due)},
		{"at => $2, body => '{\"order\": 42}'", edit(due, body(task.JSONBody, `{"order": 42}`))},
		{"at => $2, body => '\"text\"'", edit(due, body(task.TextBody, "text"))},
		{"at => $2, body => to_jsonb('" + large + "'::text)", edit(due, body(task.TextBody, large))},
		{"at => $2, body => 'null'", edit(due)},
		{"at => $2, body_bytes => '\\x00ff'", edit(due, body(task.BinaryBody, "\x00\xff"))},
		{"at => $2, method => 'PUT', headers => '{\"X-A\": \"1\", \"x-b\": \"é\"}', labels => '{\"of\": \"shop\"}', queue => 'q', priority => 'high'", edit(due, func(s *task.Spec) {
			s.Request.Method, s.Request.Headers = "PUT", map[string]string{"X-A": "1", "x-b": "é"}
			s.Labels, s.Queue, s.Priority = map[string]string{"of": "shop"}, "q", task.High
		})},
		{"at => $2, timeout => '20 s', expire_after => '1 day', max_attempts => 3, min_backoff => '2 s', max_backoff => '1 min', max_age => '2 hours', on_dead => 'https://d.example/'", edit(due, func(s *task.Spec) {
			s.Timeout, s.ExpireAfter, s.OnDead = 20*time.Second, 24*time.Hour, "https://d.example/"
			s.Retry = task.Retry{MaxAttempts: 3, MinBackoff: 2 * time.Second, MaxBackoff: time.Minute, MaxAge: 2 * time.Hour}
		})},
		{"at => $2, queue => 'mails'", edit(due, func(s *task.Spec) { s.Queue, s.Timeout, s.OnDead = "mails", 7*time.Second, "https://dead.example/" })},
		{"at => $2, queue => 'mails', on_dead => ''", edit(due, func(s *task.Spec) { s.Queue, s.Timeout = "mails", 7*time.Second })},
	} {
		for _, before := range []string{"none", "waiting", "running", "delivered", "cancelled"} {
			name := fmt.Sprint("task-", i, "-", before)
			past := task.CeilMillis(time.Now()) - 10
			if before != "none" {
				f.change(task.Create{Spec: tasktest.Spec(name, past), Idempotency: &task.Idempotency{Key: task.Digest([]byte(name)), Fingerprint: "f"}})
			}
			switch before {
			case "running", "delivered":
				fatal.If(t, f.claim(name, "token"))
				if before == "delivered" {
					f.settle(name, "token")
				}
			case "cancelled":
				f.change(task.Cancel{Key: tasktest.Key(name)})
			}
			old := f.get(tasktest.Key(name))
			args := []any{name, at}
			if !strings.Contains(row.args, "$2") {
				args = args[:1]
			}
			id := f.ask("put($1, 'https://receiver.example/hook', "+row.args+")", args...)
			got := f.get(tasktest.Key(name))
			spec := tasktest.Spec(name, past, row.edits...)
			spec.ID = id
			r, err := task.Replace{Spec: spec}.Apply(got.CreatedAt, old, task.Facts{})
			fatal.If(t, err)
			task.Sign(got.CreatedAt, "sql:postgres", task.Replace{}, old, r)
			for _, state := range []string{"pending", "written"} {
				if state == "written" {
					f.applied()
					got = f.get(tasktest.Key(name))
				}
				if !reflect.DeepEqual(got, r.Task) {
					t.Errorf("%s, %s, %s:\n%+v, want\n%+v", row.args, before, state, got, r.Task)
				}
			}
		}
	}
	f.checkCounts()
}

// checkCounts compares the counts with the records.
func (f *functions) checkCounts() {
	f.t.Helper()
	counts, err := f.Counts(f.t.Context())
	fatal.If(f.t, err)
	for q, want := range counts {
		var c task.Counts
		listed, err := f.List(f.t.Context(), task.Filter{Namespace: q.Namespace, Queue: q.Queue}, task.Page{Limit: 1000})
		fatal.If(f.t, err)
		for _, t := range listed.Tasks {
			c.Move(nil, t)
		}
		if c != want {
			f.t.Errorf("the counts of %v are %v, and the records give %v", q, want, c)
		}
	}
}

// The functions return the state that they find, and make the same changes as the API.
func TestFunctionsReturnTheStateThatTheyFind(t *testing.T) {
	f := openFunctions(t)
	for _, row := range []struct{ calls, results, end string }{
		{"cancel", "none", ""},
		{"touch", "none", ""},
		{"move", "none", ""},
		{"put cancel put", "- waiting -", "scheduled 1h"},
		{"put cancel cancel", "- waiting none", "cancelled"},
		{"put cancel move touch", "- waiting none none", "cancelled"},
		{"put touch move", "- waiting waiting", "scheduled 2h"},
		{"put move put touch", "- waiting - waiting", "scheduled 1h"},
		{"put move cancel put cancel", "- waiting waiting - waiting", "cancelled"},
		{"due claim cancel", "- - running", "running, cancelled"},
		{"due claim cancel put", "- - running -", "running, then 1h"},
		{"due claim put cancel", "- - - running", "running, cancelled"},
		{"due claim move touch", "- - running running", "running"},
		{"due claim settle cancel move", "- - - none none", "delivered"},
		{"due claim settle put cancel", "- - - - waiting", "cancelled"},
		{"due claim cancel settle", "- - running -", "delivered"},
		{"die cancel", "- none", "cancelled"},
		{"die touch", "- none", "dead"},
		{"die put", "- -", "scheduled 1h"},
	} {
		for how := range 3 { // written at the end, after each call, or in one transaction if no other calls are between
			name := strings.ReplaceAll(row.calls, " ", "-") + fmt.Sprint(how)
			var results []string
			for call := range strings.FieldsSeq(row.calls) {
				result := "-"
				switch call {
				case "put":
					f.ask("put($1, 'https://receiver.example/', delay => '1 h')", name)
				case "move":
					result = f.ask("move($1, delay => '2 h')", name)
				case "cancel", "touch":
					result = f.ask(call+"($1)", name)
				case "due":
					f.ask("put($1, 'https://receiver.example/', delay => '0')", name)
				case "claim":
					fatal.If(t, f.claim(name, "token"))
				case "settle":
					f.settle(name, "token")
				case "die":
					f.change(task.Create{Spec: tasktest.Spec(name, task.CeilMillis(time.Now())-10, func(s *task.Spec) { s.When = task.When{Relative: true} })})
					fatal.If(t, f.claim(name, "token"))
					_, err := f.Transit(t.Context(), task.CeilMillis(time.Now()), store.Settlements([]task.Settlement{{Key: tasktest.Key(name), Token: "token", Outcome: task.Outcome{Verdict: task.Refusal, Reason: task.ReasonGone}}}))
					fatal.If(t, err)
				}
				if results = append(results, result); how == 1 {
					f.applied()
				}
			}
			pending := f.get(tasktest.Key(name))
			f.applied()
			got := f.get(tasktest.Key(name))
			if !reflect.DeepEqual(got, pending) {
				t.Errorf("%s: before it is written\n%+v, after that\n%+v", row.calls, pending, got)
			}
			if list := strings.Join(results, " "); list != row.results || show(got) != row.end {
				t.Errorf("%s: %s, and the task is %s; want %s, %s", row.calls, list, show(got), row.results, row.end)
			}
		}
	}
	f.checkCounts()
	if n := f.number("SELECT count(*) FROM task WHERE record IS NULL"); n > 0 {
		t.Errorf("%d rows without a record are left", n)
	}
}

func show(t *task.Task) string {
	switch {
	case t == nil:
		return ""
	case t.CancelRequested:
		return "running, cancelled"
	case t.State == task.Running && t.Superseded():
		return "running, then " + t.Delay.String()[:2]
	case t.State == task.Scheduled:
		return "scheduled " + t.Delay.String()[:2]
	}
	return t.State.String()
}

// A rolled back transaction leaves nothing.
func TestARollbackLeavesNothing(t *testing.T) {
	f := openFunctions(t)
	f.change(task.Create{Spec: tasktest.Spec("kept", task.CeilMillis(time.Now().Add(time.Hour)))})
	want, rows := f.get(tasktest.Key("kept")), f.number("SELECT count(*) FROM news")
	tx, err := f.Begin(t.Context())
	fatal.If(t, err)
	ask(t, tx, "put('new', 'https://x.example/', delay => '1 h')")
	ask(t, tx, "put('kept', 'https://x.example/', delay => '1 h')")
	ask(t, tx, "cancel('kept')")
	ask(t, tx, "cancel('unknown')")
	fatal.If(t, tx.Rollback(t.Context()))
	if got := f.get(tasktest.Key("kept")); !reflect.DeepEqual(got, want) || f.number("SELECT count(*) FROM task") != 1 || f.number("SELECT count(*) FROM news") != rows {
		t.Errorf("%+v", got)
	}
}

func TestFunctionsRefuseWhatTheyCanCheck(t *testing.T) {
	f := openFunctions(t)
	long := strings.Repeat("x", 300)
	for _, row := range []struct{ call, code string }{
		{"put('', 'https://x.example/', delay => '1 h')", "FL001"},
		{"put('a b', 'https://x.example/', delay => '1 h')", "FL001"},
		{"put('a@b', 'https://x.example/', delay => '1 h')", "FL001"},
		{"put(E'a\\n', 'https://x.example/', delay => '1 h')", "FL001"},
		{"put(NULL, 'https://x.example/', delay => '1 h')", "FL001"},
		{"put('" + long + "', 'https://x.example/', delay => '1 h')", "FL001"},
		{"put('a', 'https://x.example/', delay => '1 h', queue => '@q')", "FL001"},
		{"put('a', kind => 'a b', delay => '1 h')", "FL001"},
		{"put('a', 'https://x.example/', delay => '1 h', namespace => '')", "FL001"},
		{"cancel('@schedule')", "FL001"},
		{"cancel(NULL)", "FL001"},
		{"put('a', 'https://x.example/')", "FL002"},
		{"put('a', 'https://x.example/', delay => '1 h', min_backoff => '2 h', max_backoff => '1 h')", "FL003"},
		{"put('a', 'https://x.example:65536/', delay => '1 h')", "FL003"},
		{"put('a', 'https://x.example:0', delay => '1 h')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', at => now())", "FL002"},
		{"put('a', 'https://x.example/', delay => '-1 s')", "FL002"},
		{"put('a', 'https://x.example/', delay => '101000 days')", "FL002"},
		{"put('a', 'https://x.example/', delay => '1 month')", "FL002"},
		{"put('a', 'https://x.example/', delay => '1 h', max_age => '1 year')", "FL002"},
		{"put('a', 'https://x.example/', at => '1969-12-31Z')", "FL002"},
		{"put('a', 'https://x.example/', at => 'infinity')", "FL002"},
		{"put('a', 'https://x.example/', at => '-infinity')", "FL002"},
		{"put('a', 'https://x.example/', at => now() + interval '101 years')", "FL002"},
		{"put('a', 'https://x.example/', delay => '1 h', timeout => '0')", "FL002"},
		{"put('a', 'https://x.example/', delay => '1 h', timeout => '61 min')", "FL002"},
		{"put('a', 'https://x.example/', delay => '1 h', max_age => '-1 s')", "FL002"},
		{"move('a')", "FL002"},
		{"put('a', delay => '1 h')", "FL003"},
		{"put('a', 'https://x.example/', kind => 'k', delay => '1 h')", "FL003"},
		{"put('a', 'ftp://x.example/', delay => '1 h')", "FL003"},
		{"put('a', 'https://user@x.example/', delay => '1 h')", "FL003"},
		{"put('a', 'https://x.example/a b', delay => '1 h')", "FL003"},
		{"put('a', 'https://', delay => '1 h')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', on_dead => 'x')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', method => 'TRACE')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', headers => '[1]')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', headers => '{\"a\": 1}')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', headers => '{\"a\": [\"1\"]}')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', headers => '{\"a b\": \"1\"}')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', headers => '{\"a\": \"1\\n\"}')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', headers => '{\"a\": \"1\", \"A\": \"2\"}')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', labels => '{\"a=b\": \"1\"}')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', labels => '{\"\": \"1\"}')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', labels => '{\"a\": \"" + long + "\"}')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', priority => 'urgent')", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', max_attempts => -1)", "FL003"},
		{"put('a', 'https://x.example/', delay => '1 h', body => '1', body_bytes => '1')", "FL003"},
		{"put('a', kind => 'k', delay => '1 h', method => 'PUT')", "FL003"},
		{"put('a', 'https://x.example/' || repeat('x', 8192), delay => '1 h')", "FL004"},
		{"put('a', 'https://x.example/', delay => '1 h', body => to_jsonb(repeat('x', 1048576)))", "FL004"},
		{"put('a', 'https://x.example/', delay => '1 h', headers => jsonb_build_object('a', repeat('x', 16384)))", "FL004"},
		{"put('a', 'https://x.example/', delay => '1 h', labels => (SELECT jsonb_object_agg(i, '') FROM generate_series(1, 65) i))", "FL004"},
		{"put('a', 'https://x.example/', delay => '1 h', namespace => 'shop')", "FL005"},
		{"cancel('a', namespace => 'shop')", "FL005"},
		{"touch('fixed')", "FL007"},
	} {
		f.ask("put('fixed', 'https://x.example/', at => now())")
		var result *string
		err := f.Conn.QueryRow(t.Context(), "SELECT "+row.call).Scan(&result)
		if code(err) != row.code || !strings.Contains(err.Error(), ":") {
			t.Errorf("%.200s: %v, want %s", row.call, err, row.code)
		}
	}
	for _, header := range []string{"Host", "Proxy", "TE", "Content-Length", "Connection", "Transfer_Encoding", "expect", "upgrade", "trailer", "keep-alive", "Proxy-A", "foliot-a", "Webhook_Id"} {
		var result string
		err := f.Conn.QueryRow(t.Context(), "SELECT put('a', 'https://x.example/', delay => '1 h', headers => jsonb_build_object($1::text, ''))", header).Scan(&result)
		if !task.ForbiddenHeader(header) || code(err) != "FL003" {
			t.Errorf("header %s: %v", header, err)
		}
	}
	if f.number("SELECT count(*) FROM task WHERE key <> 'default/fixed'") > 0 {
		t.Error("a refused call has left a row")
	}
}

// A role uses the namespaces that the owner of the schema has given to it, by the
// functions alone.
func TestARoleUsesOnlyItsNamespaces(t *testing.T) {
	f := openFunctions(t)
	fatal.If(t, f.configure(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "shop"}}))
	role := fmt.Sprintf("app_%x", rand.Int64())
	schema := f.ask("current_schema()")
	for _, sql := range []string{
		"CREATE ROLE " + role + " LOGIN", "CREATE ROLE " + role + "_member LOGIN IN ROLE " + role, "GRANT USAGE ON SCHEMA " + schema + " TO " + role,
		"INSERT INTO role_namespace VALUES ('" + role + "', 'shop'), ('dropped', 'shop')",
	} {
		_, err := f.Exec(t.Context(), sql)
		fatal.If(t, err)
	}
	for _, user := range []string{role, role + "_member"} {
		config := f.Conn.Config().Copy()
		config.User = user
		c, err := pgx.ConnectConfig(t.Context(), config)
		fatal.If(t, err)
		defer func() { fatal.If(t, c.Close(context.Background())) }()
		_, err = c.Exec(t.Context(), "CREATE TEMP TABLE task (key text, running bool, relative bool, lane int, ended bytea, pending jsonb)")
		fatal.If(t, err)
		ask(t, c, "put('a', 'https://x.example/', delay => '1 h', namespace => 'shop')")
		if got := f.get(task.Key{Namespace: "shop", Name: "a"}); got.CreatedBy != "sql:"+user {
			t.Errorf("created by %q", got.CreatedBy)
		}
		if ask(t, c, "move('a', delay => '2 h', namespace => 'shop')"); f.get(task.Key{Namespace: "shop", Name: "a"}).ChangedBy != "sql:"+user {
			t.Errorf("changed by another")
		}
		for sql, want := range map[string]string{
			"SELECT cancel('a')": "FL006", "SELECT put('a', 'https://x.example/', delay => '1 h', namespace => 'other')": "FL006",
			"SELECT count(*)::text FROM " + schema + ".task":                          "42501",
			"SELECT state FROM operate('default', 'a', '{\"op\": \"cancel\"}')":       "42501",
			"INSERT INTO role_namespace VALUES (session_user, 'default') RETURNING 1": "42501",
		} {
			var result any
			if err := c.QueryRow(t.Context(), sql).Scan(&result); code(err) != want {
				t.Errorf("%s: %v, want %s", sql, err, want)
			}
		}
	}
}

// A login that serves several tenants by SET ROLE has only the namespaces of that role.
func TestSetRoleChoosesTheNamespaces(t *testing.T) {
	f := openFunctions(t)
	fatal.If(t, f.configure(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "shop"}}))
	role := fmt.Sprintf("tenant_%x", rand.Int64())
	for _, sql := range []string{
		"CREATE ROLE " + role, "CREATE ROLE " + role + "_other", "GRANT USAGE ON SCHEMA " + f.ask("current_schema()") + " TO PUBLIC",
		"CREATE ROLE " + role + "_web LOGIN NOINHERIT IN ROLE " + role + ", " + role + "_other", "INSERT INTO role_namespace VALUES ('" + role + "', 'shop')",
	} {
		_, err := f.Exec(t.Context(), sql)
		fatal.If(t, err)
	}
	for _, login := range []string{role + "_web", f.ask("session_user")} { // the owner too
		config := f.Conn.Config().Copy()
		config.User = login
		c, err := pgx.ConnectConfig(t.Context(), config)
		fatal.If(t, err)
		defer func() { fatal.If(t, c.Close(context.Background())) }()
		_, err = c.Exec(t.Context(), "SET ROLE "+role)
		fatal.If(t, err)
		ask(t, c, "put('a', 'https://x.example/', delay => '1 h', namespace => 'shop')")
		if got := f.get(task.Key{Namespace: "shop", Name: "a"}); got.CreatedBy != "sql:"+role {
			t.Errorf("created by %q", got.CreatedBy)
		}
		_, err = c.Exec(t.Context(), "SET ROLE "+role+"_other")
		fatal.If(t, err)
		if _, err := c.Exec(t.Context(), "SELECT cancel('a', namespace => 'shop')"); code(err) != "FL006" {
			t.Errorf("%s cancels the task of another tenant: %v", login, err)
		}
	}
}

// PostgreSQL calls the functions of an index in the session of an administrator who
// maintains its table. Such a function has no more rights than its author.
func TestMaintenanceLendsNoRights(t *testing.T) {
	f := openFunctions(t)
	role := fmt.Sprintf("app_%x", rand.Int64())
	for _, sql := range []string{
		"CREATE ROLE " + role, "CREATE SCHEMA " + role + " AUTHORIZATION " + role, "GRANT USAGE ON SCHEMA " + f.ask("current_schema()") + " TO " + role, "SET ROLE " + role,
		"CREATE FUNCTION " + role + `.f(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN
			PERFORM ` + f.ask("current_schema()") + `.put('a', 'https://x.example/', delay => '1 h');
			RETURN 1;
		EXCEPTION WHEN OTHERS THEN RETURN 2; END $$`,
		"CREATE TABLE " + role + ".t AS SELECT 1 AS i", "CREATE INDEX ON " + role + ".t (" + role + ".f(i))", "RESET ROLE",
		"REINDEX TABLE " + role + ".t", "ANALYZE " + role + ".t",
	} {
		_, err := f.Exec(t.Context(), sql)
		fatal.If(t, err)
	}
	if f.get(tasktest.Key("a")) != nil {
		t.Error("an index has made a task")
	}
}

// Columns of a program can have any collation.
func TestTextsMayHaveAnyCollation(t *testing.T) {
	f := openFunctions(t)
	_, err := f.Exec(t.Context(), `CREATE COLLATION folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
		CREATE TABLE orders AS SELECT 'a' COLLATE folded AS n, 'https://x.example/' COLLATE "C" AS u, 'q' COLLATE "POSIX" AS q, 'default' COLLATE folded AS ns`)
	fatal.If(t, err)
	for _, call := range []string{
		"put(n, u, delay => '1 h', queue => q, namespace => ns, method => n || 'POST', on_dead => u, priority => q)", // two are wrong
		"put(n, u, delay => '1 h', queue => q, namespace => ns, on_dead => u)", "put(n, kind => n, delay => '1 h')", "move(n, '1 h', namespace => ns)", "touch(n, ns)", "cancel(n, ns)",
	} {
		var result string
		err := f.Conn.QueryRow(t.Context(), "SELECT "+call+" FROM orders").Scan(&result)
		if strings.Contains(call, "method") != (code(err) == "FL003") || err != nil && code(err) != "FL003" {
			t.Errorf("%s: %v", call, err)
		}
	}
	if got := f.get(tasktest.Key("a")); show(got) != "cancelled" {
		t.Error(show(got))
	}
}

// A move after a touch keeps what the touch has done to the attempts.
func TestATouchAndAMoveAreBothApplied(t *testing.T) {
	f := openFunctions(t)
	f.change(task.Create{Spec: tasktest.Spec("a", task.CeilMillis(time.Now())-10, func(s *task.Spec) { s.When = task.When{Relative: true} })})
	fatal.If(t, f.claim("a", "token"))
	_, err := f.Transit(t.Context(), task.CeilMillis(time.Now()), store.Settlements([]task.Settlement{{Key: tasktest.Key("a"), Token: "token", Outcome: task.Outcome{Verdict: task.Failure}}}))
	fatal.If(t, err)
	if used := f.get(tasktest.Key("a")).AttemptsUsed; used != 1 {
		t.Fatalf("%d attempts are used", used)
	}
	f.ask("touch('a')")
	f.ask("move('a', delay => '2 h')")
	if got := f.get(tasktest.Key("a")); got.AttemptsUsed != 0 || show(got) != "scheduled 2h" {
		t.Errorf("%d attempts are used: %s", got.AttemptsUsed, show(got))
	}
}

// The functions mean the same, whatever the strings of the program mean.
func TestStringsOfAProgramMayHaveBackslashes(t *testing.T) {
	f := openFunctions(t)
	_, err := f.Exec(t.Context(), "SET standard_conforming_strings = off")
	fatal.If(t, err)
	if id := f.ask("put('a', 'https://x.example/', delay => '1 h')"); !regexp.MustCompile("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$").MatchString(id) {
		t.Errorf("id %q", id)
	}
	for _, args := range []string{"'https://x.example/' || chr(10)", "'https://x.example/', headers => jsonb_build_object('a', chr(1))", "'https://x.example/', labels => jsonb_build_object('a', chr(1))"} {
		if _, err := f.Exec(t.Context(), "SELECT put('a', "+args+", delay => '1 h')"); code(err) != "FL003" {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// An operation replaces those before it that it makes useless, so a transaction with many
// is not slow.
func TestPendingOperationsDoNotGrow(t *testing.T) {
	f := openFunctions(t)
	f.ask("put('a', 'https://x.example/', delay => '1 h')")
	for i := range 5 {
		f.ask("move('a', delay => make_interval(hours => $1))", i+2)
		f.ask("touch('a')")
		f.ask("touch('a')")
	}
	if n := f.number("SELECT jsonb_array_length(pending) FROM task"); n > 3 || show(f.get(tasktest.Key("a"))) != "scheduled 6h" {
		t.Errorf("%d operations, %s", n, show(f.get(tasktest.Key("a"))))
	}
}

// CREATE PUBLICATION … FOR ALL TABLES forbids the changes of a table that has none.
func TestAllTablesHaveAReplicaIdentity(t *testing.T) {
	f := openFunctions(t)
	if n := f.number(`SELECT count(*) FROM pg_class c WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relpersistence = 'p'
		AND relreplident <> 'f' AND NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary)`); n > 0 {
		t.Errorf("%d tables have none", n)
	}
}

// Puts that Go refuses become dead tasks with the reason, which the counts have.
func TestARefusedPutBecomesADeadTask(t *testing.T) {
	f := openFunctions(t)
	died := 0
	f.config.OnReap = func(left []*task.Task) { died += len(left) }
	limited := settings.NamespaceSettings{Name: "shop", MaxPending: 2}
	fatal.If(t, f.configure(settings.PutNamespace{Settings: limited}))
	key := func(name string) task.Key { return task.Key{Namespace: "shop", Name: name} }
	for i := range 5 {
		f.ask("put($1, 'https://x.example/', delay => '1 h', on_dead => 'https://d.example/', namespace => 'shop')", fmt.Sprint("task-", i))
	}
	f.applied()
	if died != 3 {
		t.Errorf("%d deaths were reported", died)
	}
	counts, err := f.Counts(t.Context())
	fatal.If(t, err)
	if c := counts[task.QueueKey{Namespace: "shop", Queue: task.DefaultQueue}]; c.States[task.Scheduled] != 2 || c.States[task.Dead] != 3 {
		t.Errorf("%v", c)
	}
	if c := counts[task.QueueKey{Namespace: "shop", Queue: task.DeadQueue}]; c.States[task.Scheduled] != 3 {
		t.Errorf("notices: %v", c)
	}
	fatal.If(t, f.configure(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "shop"}}))
	for _, row := range []struct{ args, error string }{
		{"kind => 'k', delay => '1 h'", "does not allow tasks with a kind"},
		{"'https://x.example/', delay => '1 h', min_backoff => '2 h'", "must not be shorter"},
		{"'https://x.example/', delay => '1 h', body => (repeat('[', 10001) || repeat(']', 10001))::jsonb", "nested too deeply"},
	} {
		for _, then := range []string{"", "cancel", "move", "put"} {
			f.ask("put('a', " + row.args + ", namespace => 'shop')")
			switch then {
			case "cancel":
				f.ask("cancel('a', namespace => 'shop')")
			case "move":
				f.ask("move('a', delay => '2 h', namespace => 'shop')")
			case "put":
				f.ask("put('a', 'https://x.example/', delay => '1 h', namespace => 'shop')")
			}
			pending := f.get(key("a"))
			f.applied()
			got := f.get(key("a"))
			want := map[string]task.State{"": task.Dead, "cancel": task.Cancelled, "move": task.Dead, "put": task.Scheduled}[then]
			if got.State != want || !reflect.DeepEqual(got, pending) || want == task.Dead && (got.Reason != task.ReasonRefused || !strings.Contains(got.History[0].Error, row.error)) {
				t.Errorf("%s, %s: %+v", row.args, then, got)
			}
		}
	}
	died = 0
	f.ask("put('a', kind => 'k', delay => '1 h', namespace => 'shop')")
	spec := tasktest.Spec("a", task.CeilMillis(time.Now()))
	spec.Key = key("a")
	f.change(task.Replace{Spec: spec})
	f.applied()
	if died != 1 {
		t.Errorf("a change by the API that writes a refused put reports %d deaths", died)
	}
	f.checkCounts()
}

// A namespace with pending operations is not empty, and one that was removed after the
// snapshot of a transaction takes no task.
func TestANamespaceIsRemovedOnlyWhileEmpty(t *testing.T) {
	f := openFunctions(t)
	fatal.If(t, f.configure(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "shop"}}))
	f.ask("put('a', 'https://x.example/', delay => '1 h', namespace => 'shop')")
	if err := f.configure(settings.DropNamespace{Name: "shop"}); err == nil {
		t.Error("a namespace with a pending put was removed")
	}
	_, err := f.Exec(t.Context(), "DELETE FROM task")
	fatal.If(t, err)
	tx, err := f.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	fatal.If(t, err)
	ask(t, tx, "cancel('a')") // takes the snapshot
	fatal.If(t, f.configure(settings.DropNamespace{Name: "shop"}))
	var id string
	if err := tx.QueryRow(t.Context(), "SELECT put('a', 'https://x.example/', delay => '1 h', namespace => 'shop')").Scan(&id); code(err) != serialization {
		t.Errorf("%v", err)
	}
	fatal.If(t, tx.Rollback(t.Context()))
}

// closes is the edit by which a migration closes a store.
type closes struct{ settings.DropNamespace }

func (closes) Apply(task.Millis, *settings.Settings) ([]settings.SettingChange, error) {
	m := &settings.Migration{From: "a", To: "b"}
	return []settings.SettingChange{{Key: m.Key(), Value: m}}, nil
}

// A migration waits for open transactions and writes what they left. Later calls of the
// functions fail, also those of transactions with an older snapshot.
func TestAClosedStoreTakesNoPuts(t *testing.T) {
	f := openFunctions(t)
	writes, reads := client(t, f.Store), client(t, f.Store)
	for c, sql := range map[*pgx.Conn]string{writes: "BEGIN; SELECT put('in-time', 'https://x.example/', delay => '1 h')", reads: "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"} {
		_, err := c.Exec(t.Context(), sql)
		fatal.If(t, err)
	}
	fatal.If(t, f.configure(closes{}))
	done := make(chan error)
	go func() { done <- f.Settle(t.Context()) }()
	redistest.Until(t, "the migration waits", func() bool {
		return f.number("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'task'::regclass") > 0
	})
	_, err := writes.Exec(t.Context(), "COMMIT")
	fatal.If(t, errors.Join(err, <-done))
	if n := f.number("SELECT count(*) FROM task WHERE key = 'default/in-time' AND pending IS NULL"); n != 1 {
		t.Error("the put of the transaction is not written")
	}
	for c, want := range map[*pgx.Conn]string{writes: "FL008", reads: serialization} {
		if _, err = c.Exec(t.Context(), "SELECT put('late', 'https://x.example/', delay => '1 h')"); code(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Transactions at REPEATABLE READ see the changes of others as an error that they can
// retry.
func TestRepeatableReadLosesNoOperation(t *testing.T) {
	f := openFunctions(t)
	other := client(t, f.Store)
	for _, before := range []bool{false, true} { // the name has a row
		name := fmt.Sprint("task-", before)
		if before {
			f.ask("put($1, 'https://x.example/', delay => '1 h')", name)
		}
		tx, err := f.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		fatal.If(t, err)
		ask(t, tx, "cancel('another')") // takes the snapshot
		ask(t, other, "put($1, 'https://x.example/', delay => '2 h')", name)
		var state string
		if err := tx.QueryRow(t.Context(), "SELECT cancel($1)", name).Scan(&state); code(err) != serialization {
			t.Errorf("%v", err)
		}
		fatal.If(t, tx.Rollback(t.Context()))
		tx, err = f.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		fatal.If(t, err)
		if got := ask(t, tx, "cancel($1)", name); got != "waiting" {
			t.Errorf("a second try: %s", got)
		}
		fatal.If(t, tx.Commit(t.Context()))
		if got := f.get(tasktest.Key(name)); got.State != task.Cancelled {
			t.Errorf("%+v", got)
		}
	}
}

// A claim is a HOT update in spite of the index of pending operations.
func TestAClaimWritesNoIndex(t *testing.T) {
	f := openFunctions(t)
	const tasks = 10 // the page has room for their new versions
	now := task.CeilMillis(time.Now())
	var changes []task.Change
	var claims []task.Claim
	for i := range tasks {
		spec := tasktest.Spec(fmt.Sprint("task-", i), now)
		changes = append(changes, task.Create{Spec: spec})
		claims = append(claims, tasktest.Claim(tasktest.Made(spec, now), "token", now+60_000))
	}
	_, err := f.Transit(t.Context(), now, store.Changes(changes))
	fatal.If(t, err)
	tx, err := f.Begin(t.Context())
	fatal.If(t, err)
	replies, err := f.Transit(Within(t.Context(), &Transaction{DB: tx}), now, store.Claims(claims))
	fatal.If(t, err)
	for _, r := range replies {
		fatal.If(t, r.Err)
	}
	var updated, hot int
	fatal.If(t, tx.QueryRow(t.Context(), "SELECT pg_stat_get_xact_tuples_updated(c), pg_stat_get_xact_tuples_hot_updated(c) FROM (VALUES ('task'::regclass)) v(c)").Scan(&updated, &hot))
	if fatal.If(t, tx.Commit(t.Context())); updated != tasks || hot != tasks {
		t.Errorf("%d rows were updated, %d of them HOT", updated, hot)
	}
}

// A lease is extended while operations are pending, and the holder learns of a cancel.
func TestAnExtensionWritesPendingOperations(t *testing.T) {
	f := openFunctions(t)
	f.ask("put('a', 'https://x.example/', delay => '0')")
	fatal.If(t, f.claim("a", "token"))
	f.ask("cancel('a')")
	until := task.CeilMillis(time.Now()) + 120_000
	replies, err := f.Transit(t.Context(), f.now(), store.Extensions([]task.Extension{{Key: tasktest.Key("a"), Token: "token", Until: until}}))
	fatal.If(t, err)
	if got := f.get(tasktest.Key("a")); !errors.Is(replies[0].Err, task.ErrCancelRequested) || got.Lease.Until != until || f.number("SELECT until FROM lease") != int(until) {
		t.Errorf("%v, %+v", replies[0].Err, got.Lease)
	}
	f.settle("a", "token")
	f.checkCounts()
}

// A cancel that has committed holds: for each task either the claim or the cancel wins.
func TestACommittedCancelAlwaysHolds(t *testing.T) {
	s := openNodes(t, migrated(t), "a")[0]
	f := &functions{s, client(t, s), t}
	rounds := 200
	if testing.Short() {
		rounds = 30
	}
	claimed, cancelled := 0, 0
	for i := range rounds {
		name := fmt.Sprint("task-", i)
		due := task.CeilMillis(s.Latest())
		spec := tasktest.Spec(name, due)
		f.change(task.Create{Spec: spec})
		claim := tasktest.Claim(tasktest.Made(spec, due), "token", due+60_000)
		won := make(chan bool)
		go func() {
			for {
				replies, err := s.Transit(t.Context(), task.FloorMillis(s.Now()), store.Claims([]task.Claim{claim}))
				if err != nil || !errors.Is(replies[0].Err, task.ErrNotDue) {
					won <- err == nil && replies[0].Err == nil
					return
				}
			}
		}()
		state := f.ask("cancel($1)", name)
		switch wins := <-won; {
		case wins && state == "running":
			claimed++
		case !wins && state == "waiting":
			cancelled++
		default:
			t.Errorf("the claim succeeded: %v, and the cancel found %s", wins, state)
		}
	}
	t.Logf("%d claims and %d cancels were first", claimed, cancelled)
	redistest.Until(t, "all operations are written", func() bool { return f.number("SELECT count(*) FROM task WHERE pending IS NOT NULL") == 0 })
}

// The owner of a shard writes operations when it reads their news, and a new owner those
// that it finds.
func TestTheOwnerAppliesOperations(t *testing.T) {
	url := migrated(t)
	c, err := pgx.Connect(t.Context(), url)
	fatal.If(t, err)
	defer func() { fatal.If(t, c.Close(context.Background())) }()
	call := func(prefix string) {
		for i := range 50 {
			ask(t, c, "put($1, 'https://x.example/', delay => '1 h')", fmt.Sprint(prefix, i))
		}
	}
	call("early-")
	_, err = c.Exec(t.Context(), "DELETE FROM news")
	fatal.If(t, err)
	s, err := Open(t.Context(), Config{URL: url})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	f := &functions{s, c, t}
	applied := func(n int) {
		t.Helper()
		redistest.Until(t, "all operations are written", func() bool {
			return f.number("SELECT count(*) FROM task WHERE lane IS NOT NULL AND pending IS NULL") == n
		})
	}
	applied(50)
	call("late-")
	applied(100)
	_, err = c.Exec(t.Context(), "INSERT INTO task SELECT 'default/omitted', shard_of('default', 'omitted'), NULL, NULL, false, false, 1, NULL, NULL, NULL, NULL, NULL, jsonb_build_array(operations)"+
		" FROM (SELECT '{\"op\": \"put\", \"id\": \"i\", \"url\": \"https://x.example/\", \"queue\": \"default\", \"priority\": \"normal\", \"due\": 1, \"now\": 1, \"by\": \"x\"}'::jsonb) o(operations)")
	fatal.If(t, err)
	s.unapplied.Omit()
	applied(101)
	f.checkCounts()
}

// Pending operations are in no lane, so no metric shows that they are late.
func TestOperationsThatCannotBeWrittenAreReported(t *testing.T) {
	url := migrated(t)
	s, err := Open(t.Context(), Config{URL: url})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	c := client(t, s)
	redistest.Until(t, "the shards are owned", func() bool { return len(s.numbers()) == s.shards })
	sql := runs(t, url)
	sql("CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'permission denied' USING ERRCODE = '42501'; END $$; CREATE TRIGGER refuse BEFORE UPDATE ON task FOR EACH ROW EXECUTE FUNCTION refuse()")
	ask(t, c, "put('a', 'https://x.example/', delay => '1 h')")
	redistest.Until(t, "the store reports it", func() bool {
		err := s.Standing().Err
		return errors.Is(err, task.ErrUnavailable) && strings.Contains(err.Error(), "grant the user")
	})
	sql("DROP TRIGGER refuse ON task")
	redistest.Until(t, "the store works", func() bool { return s.Standing().Err == nil })
}

// A poll that cannot read the settings leaves pending operations to a later one.
func TestAFailureToReadTheSettingsSkipsNoNews(t *testing.T) {
	f := openFunctions(t)
	fatal.If(t, f.poll(t.Context()))
	f.ask("put('a', 'https://x.example/', delay => '1 h')")
	sql := runs(t, f.config.URL)
	sql("INSERT INTO setting (field, value) VALUES ('1//damaged', '{'); UPDATE version SET settings = 'other'")
	if err := f.poll(t.Context()); err == nil {
		t.Fatal("damaged settings were read")
	}
	sql("DELETE FROM setting WHERE field = '1//damaged'")
	fatal.If(t, f.poll(t.Context()))
	if keys, omitted := f.unapplied.Take(); len(keys) > 0 || !omitted { // older settings must not apply them
		t.Fatalf("%v were taken", keys)
	}
	fatal.If(t, f.surveyPending(t.Context(), f.numbers()))
	if keys, _ := f.unapplied.Take(); len(keys) != 1 {
		t.Errorf("%v have pending operations", keys)
	}
}
