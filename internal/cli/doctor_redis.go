package cli

import (
	"context"
	"time"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/redischeck"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/store/redisstore"
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

// doctorRedisTime bounds an examination.
const doctorRedisTime = 30 * time.Second

// Run examines.
func (c *doctorRedisCmd) Run(ctx context.Context, con *console, parsed *kong.Context, file *config.Values) error {
	u, config, err := c.RedisAt(c.URL, parsed, file)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, doctorRedisTime)
	defer stop()
	x, err := redisstore.Examine(ctx, config)
	if err != nil {
		return u.Explain("examine", err)
	}
	f := &findings{con: con}
	for _, found := range redischeck.Judge(x, config, "this machine's clock") {
		f.add(found.Check, found.OK, "%s", found.Says)
	}
	return f.end()
}
