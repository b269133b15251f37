package cli

import (
	"context"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/doctor"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/wire"
)

type doctorCmd struct {
	Server doctorServerCmd `cmd:"" default:"withargs" help:"Examine a running server (the default)."`
	Data   doctorDataCmd   `cmd:"" help:"Examine a data directory that no server has open."`
	Redis  doctorRedisCmd  `cmd:"" help:"Examine a Redis or Valkey, or those of a Sentinel or a Cluster, as a store."`
	Egress doctorEgressCmd `cmd:"" help:"Say whether tasks may call a URL, and why."`
}

type doctorServerCmd struct{}

// Help shows examples below the usage line.
func (doctorServerCmd) Help() string {
	return `Asks a running server what can be asked from outside, and says what is wrong with the answers: whether it is ready, how far its clock is from
this machine's, how late attempts start (judged from 100 in the last minute on), what is overdue and why, which destinations fail, which tasks died,
and of the namespace's schedules (the first 10,000) which cannot be followed, which are overdue, and which skipped instants since yesterday.
Of servers that share a Redis it also says whether each shard has an owner, and each server a name of its own, and it includes what foliot doctor redis
finds, as the server finds it by its own settings; what is late or overdue it knows of the server alone that it asks, and of tasks nothing while the store is away. Each finding is a line (or an object, with -o json). It exits with 1 when one is bad.

Examples:

    foliot doctor
    foliot doctor --server https://foliot.internal --token-file operator.token`
}

// Run examines.
func (doctorServerCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	return doctor.Server(ctx, api, newReport(con))
}

type doctorDataCmd struct {
	Dir string `arg:"" help:"The data directory."`
}

// Help shows examples below the usage line.
func (doctorDataCmd) Help() string {
	return `Reads everything in a data directory that no server has open, compares records, index entries and counts, and changes nothing. It takes as long as
reading the directory. It exits with 1 when something is wrong.

Examples:

    foliot doctor data ./foliot-data`
}

// Run examines.
func (c *doctorDataCmd) Run(ctx context.Context, con *console) error {
	dir, err := config.LocalDir("DIR", c.Dir)
	if err != nil {
		return err
	}
	return doctor.Data(ctx, dir, newReport(con))
}

// newReport returns a report that prints each finding.
func newReport(con *console) *doctor.Report {
	return doctor.NewReport(func(found wire.Finding) error {
		if con.json {
			return con.object(found)
		}
		con.sayf("%s", doctor.Line(found))
		return nil
	}, con.why)
}
