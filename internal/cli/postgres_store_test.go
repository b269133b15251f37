package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
)

func TestTasksInPostgreSQLOutliveTheServer(t *testing.T) {
	quick.Leave(t, "starts several servers")
	db, hook := pgtest.New(t), servertest.NewReceiver(t)
	hook.Release()
	url := db.URL() + "&search_path=foliot"
	wants(t, exit.OK, "made the tables in postgres://%2F", "/postgres?search_path=foliot\n")(newSession(t).runBare("postgres", "migrate", url))
	serve := func() *process {
		return serveHere(t, "--listen", anyPort, "--store", url, "--durability", "async", "--node", "a")
	}
	p := serve()
	p.must("add", hook.URL, "--in", "300ms", "--name", "soon")
	p.must("add", hook.URL, "--in", "2s", "--name", "later")
	p.must("add", hook.URL, "--in", "1h", "--name", "far")
	if name := hook.Next(t); name != "soon" {
		t.Errorf("%q arrived", name)
	}
	p.must("get", "soon", "--wait")
	shows(t, p.must("cluster", "nodes"), "a\t")
	if status, body := p.fetch("/metrics"); status != 200 || !strings.Contains(body, "foliot_postgres_oldest_snapshot_seconds ") {
		t.Errorf("the metrics of PostgreSQL are missing: %d, %s", status, body)
	}
	p.signal(terminate)
	if code, log := p.exit(); code != exit.OK {
		t.Fatalf("it ended with %d:\n%s", code, log)
	}

	p = serve()
	if name := hook.Next(t); name != "later" {
		t.Errorf("%q arrived", name)
	}
	for name, state := range map[string]string{"soon": "delivered", "far": "scheduled"} {
		if got := p.task(name); got.State != state {
			t.Errorf("%s is %s, want %s", name, got.State, state)
		}
	}
}

func TestMigrateMakesTheTablesOnce(t *testing.T) {
	db := pgtest.New(t)
	url := db.URL() + "&search_path=%22Of%20Shop%22,public"
	s := newSession(t)
	schemas := func() string {
		t.Helper()
		out, err := pgtest.Psql(t.Context(), db.URL(), "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information)' ORDER BY 1")
		fatal.If(t, err)
		return strings.ReplaceAll(out, "\n", " ")
	}
	sql, _, code := s.runBare("postgres", "migrate", url, "--print")
	if code != exit.OK || !strings.HasPrefix(sql, "BEGIN;\nCREATE SCHEMA \"Of Shop\";\n") || !strings.HasSuffix(sql, "\nCOMMIT;\n") || schemas() != "public" {
		t.Fatalf("it ended with %d, made %s and printed\n%s", code, schemas(), sql)
	}
	t.Setenv("FOLIOT_STORE", url)
	var reply struct{ Store, SQL string }
	out, errs, code := s.runBare("postgres", "migrate", "-o", "json")
	fatal.If(t, json.Unmarshal([]byte(out), &reply))
	if code != exit.OK || errs != "" || !strings.HasSuffix(reply.Store, "/postgres?search_path=%22Of%20Shop%22,public") || "BEGIN;\n"+reply.SQL+"COMMIT;\n" != sql || schemas() != "Of Shop public" {
		t.Errorf("it ended with %d, made %s and printed %s%s", code, schemas(), out, errs)
	}
	for _, more := range [][]string{nil, {"--print"}} {
		wants(t, exit.OK, "-- nothing to do: the tables in "+reply.Store+" are the newest\n")(s.runBare(append([]string{"postgres", "migrate"}, more...)...))
	}
	for _, says := range []string{"made the tables in", "nothing to do"} {
		wants(t, exit.OK, says)(s.runBare("postgres", "migrate", db.URL()+"&search_path=My-Store"))
	}
	// The printed SQL makes the same store.
	_, err := pgtest.Psql(t.Context(), db.URL(), strings.ReplaceAll(sql, "Of Shop", "by_hand"))
	fatal.If(t, err)
	wants(t, exit.OK, "nothing to do")(s.runBare("postgres", "migrate", db.URL()+"&search_path=by_hand"))
	_, err = pgtest.Psql(t.Context(), db.URL(), "UPDATE by_hand.meta SET format = 7")
	fatal.If(t, err)
	for _, command := range []string{"postgres migrate", "serve --listen " + anyPort} {
		t.Setenv("FOLIOT_STORE", db.URL()+"&search_path=by_hand")
		wants(t, exit.Failure, "the tables have format 7, and this version needs format 1: run foliot postgres migrate, or use the newest version")(s.runBare(strings.Fields(command)...))
	}
}

func TestMistakesWithPostgreSQLHaveARemedyAndHideThePassword(t *testing.T) {
	quick.Leave(t, "starts several servers")
	port := freePort(t)
	db := pgtest.New(t, "listen_addresses=127.0.0.1", "port="+port)
	for _, sql := range []string{
		"CREATE SCHEMA bare", "CREATE SCHEMA other; CREATE TABLE other.meta (id int)",
		"CREATE ROLE weak LOGIN; CREATE ROLE reader LOGIN; ALTER ROLE reader SET default_transaction_read_only = on",
		`CREATE ROLE locked LOGIN PASSWORD 'another'; DO $$ BEGIN
			EXECUTE format('COPY (VALUES (''local all all trust''), (''host all locked all scram-sha-256''), (''host all all all trust'')) TO %L', current_setting('hba_file'));
			PERFORM pg_reload_conf(); END $$`,
		// A function that is found before the real one.
		`CREATE SCHEMA old; CREATE FUNCTION old.current_setting(text) RETURNS text LANGUAGE sql AS
			$$ SELECT CASE WHEN $1 = 'server_version_num' THEN '130011' WHEN $1 = 'server_version' THEN '13.11' ELSE pg_catalog.current_setting($1) END $$;
			CREATE ROLE aged LOGIN SUPERUSER; ALTER ROLE aged SET search_path = old, pg_catalog`,
	} {
		_, err := pgtest.Psql(t.Context(), db.URL(), sql)
		fatal.If(t, err)
	}
	at := func(user, host, rest string) string { return "postgres://" + user + ":sesame@" + host + "/" + rest }
	here := "127.0.0.1:" + port
	redistest.Until(t, "the password matters", func() bool {
		_, err := pgtest.Psql(t.Context(), at("locked", here, "postgres"), "SELECT 1")
		return err != nil
	})
	for _, row := range []struct {
		url, says, remedy string
		migrates          bool // foliot postgres migrate does not fail
	}{
		{at("postgres", here, "postgres?search_path=bare"), `relation "bare.meta" does not exist`, "run foliot postgres migrate", true},
		{at("postgres", here, "postgres?search_path=missing"), `relation "missing.meta" does not exist`, "run foliot postgres migrate", true},
		{at("postgres", here, "postgres?search_path=other"), `column "format" does not exist`, "name a schema of its own with search_path", false},
		{at("postgres", here, "shop"), `database "shop" does not exist`, "CREATE DATABASE", false},
		{at("nobody", here, "postgres"), `role "nobody" does not exist`, "pass a valid user and password", false},
		{at("locked", here, "postgres"), "password authentication failed", "pass a valid user and password", false},
		{at("weak", here, "postgres?search_path=theirs"), "does not exist", "run foliot postgres migrate", false},
		{at("reader", here, "postgres"), "takes no writes. If it is a standby", "the address of the primary", false},
		{at("aged", here, "postgres"), "PostgreSQL 13.11 is too old", "use PostgreSQL 14 or newer", false},
		{at("postgres", here, "postgres?nonsense=1"), `unrecognized configuration parameter "nonsense"`, "this is an error of PostgreSQL itself", false},
		{at("postgres", here, "postgres?sslmode=require"), "refused TLS", "the address and sslmode are correct", false},
		{at("postgres", "127.0.0.1:"+freePort(t), "postgres"), "connection refused", "check that it runs", false},
		{at("postgres", "nowhere.invalid", "postgres"), "nowhere.invalid", "check that it runs", false},
	} {
		for _, command := range []string{"serve --listen " + anyPort + " --store", "postgres migrate --print"} {
			out, errs, code := newSession(t).runBare(append(strings.Fields(command), row.url)...)
			if row.migrates && strings.HasPrefix(command, "postgres") {
				wants(t, exit.OK, "CREATE TABLE")(out, errs, code)
				continue
			}
			if strings.HasPrefix(command, "postgres") && strings.Contains(row.url, "theirs") { // it prints, but may not make them
				out, errs, code = newSession(t).runBare("postgres", "migrate", row.url)
				row.says, row.remedy = "permission denied for database", "grant the user CREATE on the database"
			}
			if code != exit.Failure || !strings.Contains(errs, row.says) || !strings.Contains(errs, row.remedy) || !strings.Contains(errs, " the store at postgres://") ||
				strings.Contains(out+errs, "sesame") || strings.Count(errs, "\n") != 1 {
				t.Errorf("%s %s ended with %d: %s%s", command, row.url, code, out, errs)
			}
		}
	}
}

func TestURLsAndFlagsThatDoNotFitPostgreSQLAreRefused(t *testing.T) {
	const url = "postgres://foliot:sesame@127.0.0.1:1/shop"
	for line, says := range map[string]string{
		"--store " + url + " --shards 16":                           "--shards: foliot postgres migrate has fixed it for all servers",
		"--store " + url + " --shard-lease 1s":                      "--shard-lease: foliot postgres migrate has fixed it for all servers",
		"--store " + url + " --redis-unsafe":                        "--redis-unsafe: this flag is for a Redis",
		"--store " + url + " --node a/b":                            "--node: ",
		"--store Postgres://foliot:sesame@127.0.0.1:1/x?a=b":        "--store: the URL of a PostgreSQL begins with postgres://",
		"--store postgres:shop":                                     "--store: the URL of a PostgreSQL begins with postgres://",
		"--store postgres://foliot:12/sesame@127.0.0.1/x":           "--store: the URL of a PostgreSQL cannot be parsed: check its parameters, and in a password write %40 for @, %2F for /",
		"--store postgres://foliot:sesame/1@127.0.0.1/x":            "--store: the URL of a PostgreSQL cannot be parsed: check its parameters, and in a password write %40 for @, %2F for /",
		"--store postgres://foliot:a@sesame@127.0.0.1/x":            "--store: the URL of a PostgreSQL cannot be parsed: check its parameters, and in a password write %40 for @, %2F for /",
		"--store postgres://foliot:sesame%zz@127.0.0.1/x":           "--store: the URL of a PostgreSQL cannot be parsed: check its parameters, and in a password write %40 for @, %2F for /",
		"--store postgres://foliot:sesame@127.0.0.1/x?sslmode=some": "--store: the URL of a PostgreSQL cannot be parsed: check its parameters",
		"--data " + url:       "--data: a directory is required, but this is the URL of PostgreSQL",
		"--durability strict": "--durability: this flag is for servers that share a Redis or PostgreSQL",
	} {
		out, errs, code := newSession(t).runBare(append([]string{"config"}, strings.Fields(line)...)...)
		if code != exit.Usage || !strings.Contains(errs, says) || strings.Contains(out+errs, "sesame") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s ended with %d: %s%s", line, code, out, errs)
		}
	}
	wants(t, exit.Usage, "--store: the URL of a PostgreSQL is required")(newSession(t).runBare("postgres", "migrate", "redis://127.0.0.1"))
	wants(t, exit.Usage, "--store: the URL of a PostgreSQL is required")(newSession(t).runBare("postgres", "migrate"))
	wants(t, exit.OK, "store: set, not shown")(newSession(t).runBare("config", "--store", url, "--node", "a", "--durability", "strict"))
}
