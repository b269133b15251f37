package cli

import (
	"context"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/doctor"
	"github.com/foliot/foliot/internal/pgcheck"
	"github.com/foliot/foliot/internal/server/config"
)

type doctorPostgresCmd struct {
	URL string `arg:"" optional:"" help:"The URL of the PostgreSQL, as in foliot serve --store (default: the value of --store)."`

	config.Flags
}

func (doctorPostgresCmd) Help() string {
	return `Examines a PostgreSQL and the tables of a store in it, and reports problems for tasks: settings, standbys, a pooler, old transactions
and locks with their holder, dead rows, rights, and differences between the clocks. It changes nothing. A user without the role
pg_read_all_stats sees less about the transactions of others. It exits with 1 if a finding is bad.

Examples:

    foliot doctor postgres 'postgres://foliot:PASSWORD@127.0.0.1/shop?search_path=foliot'
    foliot doctor postgres --config /etc/foliot.yaml`
}

func (c *doctorPostgresCmd) Run(ctx context.Context, con *console.Console, parsed *kong.Context, file *config.Values) error {
	settings, err := c.PostgresAt(c.URL, parsed, file)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, doctor.StoreTime)
	defer stop()
	return newReport(con).Store(pgcheck.Examine(ctx, settings, "this machine's clock"))
}
