package pgstore

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/storetest"
)

// A pooler in transaction mode runs each transaction of a connection on any connection
// of the server, refuses search_path, and delivers no messages.
func TestThroughAPooler(t *testing.T) {
	server := pgtest.Shared(t)
	pooler := server.Bouncer(t)
	through := func(t *testing.T) string {
		t.Helper()
		url := pooler + "&search_path=" + server.Schema(t)
		for range 3 { // statements prepared by name would clash
			fatal.If(t, Migrate(t.Context(), url))
		}
		return url
	}
	opened := func(t *testing.T) store.Store {
		t.Helper()
		return openedAt(t, through(t))
	}
	t.Run("contract", func(t *testing.T) {
		if testing.Short() {
			t.Skip("make postgres-long runs it, in half a minute")
		}
		storetest.Run(t, opened)
	})
	t.Run("differential", func(t *testing.T) { differential(t, quick.Of(4, 1), opened) })
	t.Run("nodes", func(t *testing.T) { theOwnerFindsTheTasksOfOtherNodes(t, through(t)) })
	t.Run("transactions of users", func(t *testing.T) { changesAreThoseOfTheUsersTransaction(t, through(t)) })
	t.Run("messages", func(t *testing.T) {
		j := servertest.NewJournal()
		s, err := Open(t.Context(), Config{URL: through(t), Shared: store.Shared{Logger: j.Logger()}})
		fatal.If(t, err)
		defer func() { fatal.If(t, s.Close()) }()
		j.Await(t, `level=INFO msg="a pooler drops the messages of the other nodes`)
		if !s.pooled || s.listeners.hears.Load() || s.Standing().Postgres.NotListening {
			t.Error("the pooler was not noticed")
		}
	})
	t.Run("refusal", func(t *testing.T) {
		_, err := Open(t.Context(), Config{URL: pooler + "&geqo=off"})
		if err == nil || !strings.Contains(err.Error(), "a pooler such as PgBouncer refuses this") {
			t.Error("the error of a pooler is explained as", err)
		}
	})
}

// Messages are missed only if the server does not deliver them, and while the connection
// that receives them is away.
func TestANodeHearsItself(t *testing.T) {
	s, err := Open(t.Context(), Config{URL: migrated(t), Shared: store.Shared{Embedded: true}})
	fatal.If(t, err)
	defer func() { fatal.If(t, s.Close()) }()
	for range 2 {
		redistest.Until(t, "it hears", func() bool { return !s.Standing().Postgres.NotListening })
		_, err := s.pool.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = $1", "LISTEN "+pgx.Identifier{s.channel}.Sanitize())
		fatal.If(t, err)
		redistest.Until(t, "it knows that it hears nothing", func() bool { return s.Standing().Postgres.NotListening })
	}
	if s.pooled {
		t.Error("there is no pooler")
	}
}

// A program has a mode of its own for its statements. In some modes the driver guesses
// the types of arguments, and in others it prepares statements by name.
func TestTheModeOfAProgramsPoolDoesNotMatter(t *testing.T) {
	server, schema := pgtest.Shared(t), pgtest.Shared(t).Schema(t)
	fatal.If(t, Migrate(t.Context(), server.URL()+"&search_path="+schema))
	pooler := server.Bouncer(t)
	for _, url := range []string{
		server.URL() + "&default_query_exec_mode=exec", pooler, pooler + "&default_query_exec_mode=simple_protocol&statement_cache_capacity=0&description_cache_capacity=0",
	} {
		pool, err := pgxpool.ParseConfig(url)
		fatal.If(t, err)
		for _, c := range []Config{{Pool: pool, Schema: schema}, {URL: url + "&search_path=" + schema}} {
			s, err := Open(t.Context(), c)
			fatal.If(t, err)
			if s.Standing().Nodes == 0 {
				t.Errorf("no heartbeat reached %s", url)
			}
			fatal.If(t, s.Close())
		}
	}
}
