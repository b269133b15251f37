package doctor

import (
	"context"

	"github.com/foliot/foliot/internal/pgcheck"
	"github.com/foliot/foliot/internal/store/pgstore"
)

// Postgres examines the PostgreSQL that settings name, as foliot serve would use it.
func Postgres(ctx context.Context, settings pgstore.Config, f *Report) error {
	ctx, stop := context.WithTimeout(ctx, StoreTime)
	defer stop()
	list, err := pgcheck.Examine(ctx, settings, "this machine's clock")
	if err != nil {
		return err
	}
	for _, found := range list {
		f.add(found.Check, found.OK, "%s", found.Says)
	}
	return f.end()
}
