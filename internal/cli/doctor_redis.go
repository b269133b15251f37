package cli

import (
	"context"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/doctor"
	"github.com/foliot/foliot/internal/redischeck"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/store/redisstore"
)

type doctorRedisCmd struct {
	URL string `arg:"" optional:"" help:"The URL of the Redis, as in foliot serve --store (default: the value of --store)."`

	config.Flags
}

func (doctorRedisCmd) Help() string {
	return `Examines all masters of a Redis or Valkey, of a Sentinel or of a Cluster, and reports problems for tasks: settings that foliot serve
would refuse, memory, replicas and their lag, differences between the clocks, and the durability of tasks. It changes nothing. It
accepts the flags, variables and --config of foliot serve, and uses them for the check. It exits with 1 if a finding is bad.

Examples:

    foliot doctor redis redis://127.0.0.1:6379
    FOLIOT_STORE=redis+cluster://foliot:PASSWORD@10.0.0.1,10.0.0.2 foliot doctor redis --durability strict
    foliot doctor redis --config /etc/foliot.yaml`
}

func (c *doctorRedisCmd) Run(ctx context.Context, con *console.Console, parsed *kong.Context, file *config.Values) error {
	u, store, err := c.RedisAt(c.URL, parsed, file)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, doctor.StoreTime)
	defer stop()
	x, err := redisstore.Examine(ctx, store)
	if err != nil {
		return u.Explain("examine", err)
	}
	return newReport(con).Store(redischeck.Judge(x, store, "this machine's clock"), nil)
}
