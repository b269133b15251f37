package admin

import (
	"context"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/store/pgstore"
)

// Postgres has the commands of foliot postgres.
type Postgres struct {
	Migrate postgresMigrateCmd `cmd:"" help:"Make the schema and the tables of a store, or change those of an earlier version."`
}

type postgresMigrateCmd struct {
	URL   string `arg:"" optional:"" help:"The URL of the PostgreSQL, as in foliot serve --store (default: the value of --store)."`
	Print bool   `file:"-" help:"Print the SQL, and change nothing."`

	config.Flags
}

func (postgresMigrateCmd) Help() string {
	return `A schema of a database is a store, and the search_path in the URL names it. This command makes the schema, if it does not exist,
for which the user needs the right CREATE on the database, and its tables. If there is nothing to do, it changes nothing.

Examples:

    foliot postgres migrate 'postgres://foliot:PASSWORD@127.0.0.1/shop?search_path=foliot'
    foliot postgres migrate --config /etc/foliot.yaml --print`
}

func (c *postgresMigrateCmd) Run(ctx context.Context, con *console.Console, parsed *kong.Context, file *config.Values) error {
	settings, err := c.PostgresAt(c.URL, parsed, file)
	if err != nil {
		return err
	}
	sql, err := pgstore.Plan(ctx, settings.URL, !c.Print)
	if err != nil {
		return err
	}
	at := pgstore.Location(settings.URL)
	reply := map[string]string{"store": at, "sql": sql}
	switch {
	case sql == "":
		return con.Resultf(reply, "-- nothing to do: the tables in %s are the newest", at)
	case c.Print && !con.JSON:
		_, err := fmt.Fprintf(con.Out, "BEGIN;\n%sCOMMIT;\n", sql)
		return err
	}
	return con.Resultf(reply, "made the tables in %s", at)
}
