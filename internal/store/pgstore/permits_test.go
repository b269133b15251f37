package pgstore

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/permits"
)

// A sweep removes limits that are as good as new, and none of which a process holds a part.
func TestASweepRemovesUnusedLimits(t *testing.T) {
	s := opened(t).(*Store) //nolint:forcetypeassert // it has no other type
	defer func() { fatal.If(t, s.Close()) }()
	scope := func(queue string) store.PermitScope { return store.PermitScope{Namespace: "default", Queue: queue} }
	ask := func(queue string, keep, want int) int {
		t.Helper()
		r := s.Permit(t.Context(), []store.PermitAsk{{PermitScope: scope(queue), Concurrency: 1, Keep: keep, Want: want}})[0]
		fatal.If(t, r.Err)
		return r.Held
	}
	if ask("held", 0, 1) != 1 || ask("returned", 0, 1) != 1 || ask("returned", 0, 0) != 0 {
		t.Error("the permits are not those that were asked for")
	}
	_, err := s.Sweep(t.Context(), 1, 10)
	fatal.If(t, err)
	rows, err := query(t.Context(), s, pgx.RowTo[string], "SELECT scope FROM foliot.permit")
	fatal.If(t, err)
	if len(rows) != 1 || rows[0] != permits.Name(scope("held")) {
		t.Errorf("the limits that are left are %q", rows)
	}
}
