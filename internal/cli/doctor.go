package cli

import (
	"context"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/doctor"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/wire"
)

type doctorCmd struct {
	Server   doctorServerCmd   `cmd:"" default:"withargs" help:"Examine a running server (the default)."`
	Data     doctorDataCmd     `cmd:"" help:"Examine a data directory that no server has open."`
	Redis    doctorRedisCmd    `cmd:"" help:"Examine a Redis or Valkey, a Sentinel or a Cluster, as a store."`
	Postgres doctorPostgresCmd `cmd:"" help:"Examine a PostgreSQL as a store."`
	Egress   doctorEgressCmd   `cmd:"" help:"Check whether tasks may call a URL, and show why."`
	Capacity doctorCapacityCmd `cmd:"" help:"Show what a load needs: processors, disk, memory."`
}

type doctorServerCmd struct{}

func (doctorServerCmd) Help() string {
	return `Examines a running server through its API. It reports problems of the server: readiness, certificate, clock, and lateness if there
were at least 100 attempts in the last minute. It also reports overdue tasks with the reason, failing destinations and dead tasks.
An operator's token also shows the free space of a directory, and new TLS files that the server cannot use.
Of the first 10,000 schedules of the namespace, it reports those that are stuck or overdue. With an operator's token and without
--namespace, the dead tasks are those of all namespaces, and the schedules those of the namespace default.

If servers share a Redis or PostgreSQL, it also checks that each shard has an owner and each server its own name, and lets the
server examine the store with its own settings, as foliot doctor redis and foliot doctor postgres do. Lateness and overdue tasks
are those of the one server that answers. While the store is unavailable, nothing is known about tasks.

Each finding is a line, or an object with -o json. The command exits with 1 if a finding is bad.

Examples:

    foliot doctor
    foliot doctor --server https://foliot.internal --token-file operator.token`
}

func (doctorServerCmd) Run(ctx context.Context, con *console.Console, api *client.Client, calls *connect.Flags) error {
	return doctor.Server(ctx, api, calls, newReport(con))
}

type doctorDataCmd struct {
	Dir string `arg:"" help:"The data directory."`
}

func (doctorDataCmd) Help() string {
	return `Reads all data in a data directory that no server has open, and compares records, index entries and counts. It changes nothing. It
takes as long as reading the directory, and exits with 1 if it finds a problem.

Examples:

    foliot doctor data ./foliot-data`
}

func (c *doctorDataCmd) Run(ctx context.Context, con *console.Console) error {
	dir, err := config.LocalDir("DIR", c.Dir)
	if err != nil {
		return err
	}
	return doctor.Data(ctx, dir, newReport(con))
}

func newReport(con *console.Console) *doctor.Report {
	return doctor.NewReport(func(found wire.Finding) error {
		return con.Resultf(found, "%s", doctor.Line(found))
	}, con.ErrorText)
}
