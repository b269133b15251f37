package cli

import (
	"context"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/doctor"
	"github.com/foliot/foliot/internal/server/config"
)

type doctorRedisCmd struct {
	URL string `arg:"" optional:"" help:"The Redis, as for foliot serve --store, which is taken without it."`

	config.Flags
}

// Help shows examples below the usage line.
func (doctorRedisCmd) Help() string {
	return `Asks all masters of a Redis or Valkey, of a Sentinel's or of a Cluster how they are, and says what is wrong for tasks: what foliot serve would
refuse, memory, replicas and how far they are behind, how far the clocks are from each other's and from this machine's, and how tasks are
kept there. It changes nothing. It takes what foliot serve takes, flags, variables and --config, and judges by that. It exits with 1 when a
finding is bad.

Examples:

    foliot doctor redis redis://127.0.0.1:6379
    FOLIOT_STORE=redis+cluster://foliot:PASSWORD@10.0.0.1,10.0.0.2 foliot doctor redis --durability strict
    foliot doctor redis --config /etc/foliot.yaml`
}

// Run examines.
func (c *doctorRedisCmd) Run(ctx context.Context, con *console, parsed *kong.Context, file *config.Values) error {
	u, store, err := c.RedisAt(c.URL, parsed, file)
	if err != nil {
		return err
	}
	return doctor.Redis(ctx, u, store, newReport(con))
}
