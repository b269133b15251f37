package cli

import (
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/doctor"
	"github.com/foliot/foliot/internal/usage"
)

type doctorCapacityCmd struct {
	Day     float64 `default:"1e6" placeholder:"N" help:"Tasks a day (default: 1e6)."`
	Waiting float64 `default:"1e5" placeholder:"N" help:"Tasks that wait at once (default: 1e5)."`
	Body    float64 `default:"1000" placeholder:"BYTES" help:"The size of a body (default: 1000)."`
}

func (doctorCapacityCmd) Help() string {
	return `Shows what a load needs, from measured costs of a task: the processors that are busy on average, those of the store included, and the
bytes on the disk, or in the memory of a Redis, if ended tasks are kept for a day. The last column is the number of tasks that two
processors deliver in a second: if more come due at once, they are late. It asks no server.

Examples:

    foliot doctor capacity
    foliot doctor capacity --day 2e7 --waiting 5e6 --body 400`
}

func (c *doctorCapacityCmd) Run(con *console.Console) error {
	if min(c.Day, c.Waiting, c.Body) < 0 {
		return usage.Errorf("--day, --waiting, --body", "must not be negative")
	}
	all := doctor.Capacities(doctor.Load{Day: c.Day, Waiting: c.Waiting, Body: c.Body})
	return console.Items(con, []string{"STORE", "PROCESSORS", "KEEPS", "DELIVERS A SECOND"}, all, func(of doctor.Capacity) []string { return of.Texts() })
}
