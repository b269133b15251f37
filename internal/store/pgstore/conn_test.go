package pgstore

import (
	"context"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/store"
)

// While PostgreSQL starts or recovers, it refuses connections. A node waits for that.
func TestAStoreIsOpenedWhenPostgreSQLHasStarted(t *testing.T) {
	url := migrated(t)
	pool, path, err := parse(url)
	fatal.If(t, err)
	refused := false
	dial := pool.ConnConfig.DialFunc
	pool.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if refused {
			return dial(ctx, network, addr)
		}
		refused = true
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			server := pgproto3.NewBackend(theirs, theirs)
			_, err := server.ReceiveStartupMessage()
			server.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: starting, Message: "the database system is starting up"})
			if err != nil || server.Flush() != nil {
				t.Error("the connection was not refused")
			}
		}()
		return ours, nil
	}
	j := servertest.NewJournal()
	s, err := Open(t.Context(), Config{Pool: pool, Schema: path, Shared: store.Shared{CallersClock: true, Logger: j.Logger()}})
	fatal.If(t, err)
	fatal.If(t, s.Close())
	j.Await(t, "PostgreSQL is starting: this node waits until it is ready")
}
