//go:build unix

package pgtest

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/fatal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(Main{M: m}) }

// query returns the result of statements.
func query(t *testing.T, s *Server, sql string) string {
	t.Helper()
	out, err := Psql(t.Context(), s.URL(), sql)
	fatal.If(t, err)
	return out
}

// answersSoon reports whether s answers within a tenth of a second.
func answersSoon(t *testing.T, s *Server) bool {
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	return s.ping(ctx) == nil
}

func TestRowsSurviveAKill(t *testing.T) {
	t.Parallel()
	s := New(t, "max_connections=20")
	if got := query(t, s, "SELECT current_setting('fsync'), current_setting('max_connections')"); got != "on|20" {
		t.Errorf("the settings are %s", got)
	}
	query(t, s, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)")
	s.Kill()
	if answersSoon(t, s) {
		t.Error("a killed server answers")
	}
	fatal.If(t, s.Restart())
	if got := query(t, s, "SELECT n FROM kept"); got != "7" {
		t.Errorf("after a kill, the rows are %q", got)
	}
}

func TestAPausedServerAnswersLater(t *testing.T) {
	t.Parallel()
	s := New(t)
	s.Pause()
	if answersSoon(t, s) {
		t.Error("a paused server answers")
	}
	s.Resume()
	query(t, s, "SELECT 1")
	s.Pause() // Close ends paused servers too
}

func TestASchemaIsEmpty(t *testing.T) {
	t.Parallel()
	s := Shared(t)
	if Shared(t) != s {
		t.Error("a second server was started")
	}
	for range 2 {
		schema := s.Schema(t)
		query(t, s, "SET search_path = "+schema+"; CREATE TABLE own (n int)")
		if got := query(t, s, "SELECT relname FROM pg_class WHERE relnamespace = '"+schema+"'::regnamespace"); got != "own" {
			t.Errorf("the schema contains %q", got)
		}
	}
}

func TestAStandbyHasTheRowsAndBecomesThePrimary(t *testing.T) {
	t.Parallel()
	first := New(t, "synchronous_standby_names=ANY 1 (a)")
	second, err := first.Standby("a")
	fatal.If(t, err)
	t.Cleanup(second.Close)
	query(t, first, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)") // waits for the standby
	first.Kill()
	query(t, second, "SELECT pg_promote()")
	out, err := Psql(t.Context(), Hosts(first, second), "SET synchronous_commit = local; INSERT INTO kept VALUES (8) RETURNING (SELECT n FROM kept)")
	if err != nil || out != "7" {
		t.Fatalf("the successor has %q: %v", out, err)
	}
	fatal.If(t, first.Copy(second, "b"))
	fatal.If(t, first.Follow(t.Context(), nil, ""))
	if got := query(t, first, "SELECT pg_is_in_recovery(), sum(n) FROM kept"); got != "t|15" {
		t.Errorf("the old primary has %s", got)
	}
}
