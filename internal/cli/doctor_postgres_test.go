package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
)

func TestDoctorExaminesAPostgreSQL(t *testing.T) {
	db := pgtest.New(t, "fsync=off", "autovacuum=off")
	url := db.URL() + "&search_path=foliot"
	s := newSession(t)
	wants(t, exit.Failure, "run foliot postgres migrate")(s.runBare("doctor", "postgres", url))
	wants(t, exit.OK, "made the tables")(s.runBare("postgres", "migrate", url))
	_, err := pgtest.Psql(t.Context(), db.URL(), "CREATE ROLE weak LOGIN; GRANT USAGE ON SCHEMA foliot TO weak; GRANT SELECT ON ALL TABLES IN SCHEMA foliot TO weak; GRANT CREATE ON SCHEMA foliot TO PUBLIC")
	fatal.If(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range 2 { // one of them waits for the other
		go func() {
			_, _ = pgtest.Psql(ctx, db.URL()+"&application_name=holder", "LOCK TABLE foliot.task; SELECT pg_sleep(600)")
		}()
	}
	out := ""
	defer func() {
		if t.Failed() {
			t.Log(out)
		}
	}()
	redistest.Until(t, "one waits for the other", func() bool {
		var code int
		out, _, code = s.runBare("doctor", "postgres", url, "--durability", "strict")
		return code == exit.Failure && strings.Contains(out, "application holder, active, for ") && strings.Contains(out, "BAD  locks")
	})
	for _, says := range []string{
		"ok   server       version ", "ok   pooler       none", "BAD  fsync        fsync is off", "ok   connections", "BAD  standbys     at the level strict every change is refused",
		"ok   clock        it differs by", "ok   format       the schema foliot has format 1, 32 shards", "BAD  rights       every role can make functions in the schema foliot", "ok   rights       on the tables: all", "ok   snapshot     pid ",
		"pg_terminate_backend", "BAD  vacuum       autovacuum or track_counts is off", "ok   vacuum       task has 0 rows and 0 dead ones, last vacuum never",
	} {
		if !strings.Contains(out, says) {
			t.Errorf("%q is not in\n%s", says, out)
		}
	}
	wants(t, exit.Failure, "BAD  rights       on the tables: some are missing on [")(s.runBare("doctor", "postgres", strings.Replace(url, "postgres@", "weak@", 1)))

	// An ordinary user sees neither the state of standbys nor the age of transactions.
	standby, err := db.Standby("a")
	fatal.If(t, err)
	t.Cleanup(standby.Close)
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'a'", "SELECT pg_reload_conf()"} {
		_, err = pgtest.Psql(t.Context(), db.URL(), sql)
		fatal.If(t, err)
	}
	for _, says := range []string{
		"ok   standbys     commits wait for a: 1 are connected, in a state that this user must not see: GRANT pg_read_all_stats", "application holder, in an unknown state, for an unknown time: GRANT pg_read_all_stats",
	} {
		redistest.Until(t, says, func() bool {
			out, _, _ = s.runBare("doctor", "postgres", strings.Replace(url, "postgres@", "weak@", 1))
			return strings.Contains(out, says)
		})
	}
}
