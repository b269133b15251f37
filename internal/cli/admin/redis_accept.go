package admin

import (
	"context"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/doctor"
	"github.com/foliot/foliot/internal/redischeck"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/store/redisstore"
)

// Redis has the commands of foliot redis.
type Redis struct {
	AcceptLoss redisAcceptCmd `cmd:"" help:"Accept the loss of a part of the store, and continue with the rest."`
}

type redisAcceptCmd struct {
	URL string `arg:"" optional:"" help:"The URL of the Redis, as in foliot serve --store (default: the value of --store)."`
	Yes bool   `short:"y" help:"Do not ask for confirmation."`

	config.Flags
}

func (redisAcceptCmd) Help() string {
	return `A store in Redis has an identity. Each part of the store has a copy of it, and each server remembers it. If a part loses its copy,
for example because a master of a Cluster came back empty or the settings were deleted, all servers refuse requests, send
nothing, and no server starts. If you can, restore the data: then the servers continue by themselves. If you cannot, use this
command. It lists the lost parts, asks for confirmation, and writes the identity to these parts.

Lost data stays lost: the tasks of those parts, or the settings with all access tokens and signing secrets. Restart every server
afterwards. If the settings are lost, first start one server on loopback and create a token there, before any server listens
beyond loopback.

An empty Redis, or one with another store, does not need this command: a server that starts uses it as it is. Running servers
remember another store and refuse requests until they are restarted.

Examples:

    foliot redis accept-loss redis://127.0.0.1:6379
    FOLIOT_STORE=redis+cluster://foliot:PASSWORD@10.0.0.1,10.0.0.2 foliot redis accept-loss --yes`
}

func (c *redisAcceptCmd) Run(ctx context.Context, con *console.Console, parsed *kong.Context, file *config.Values) error {
	u, settings, err := c.RedisAt(c.URL, parsed, file)
	if err != nil {
		return err
	}
	person := ctx // a user may take longer than the time limit for Redis
	ctx, stop := context.WithTimeout(ctx, doctor.StoreTime)
	defer stop()
	var refused error
	found, err := redisstore.AcceptLoss(ctx, settings, func(f *redisstore.Found) error {
		if !c.Yes {
			refused = con.Confirm(person, "%s. This loss is final. Continue with the rest of the store?", redischeck.Losses(f))
		}
		return refused
	})
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return u.Explain("accept the loss in", err)
	case con.JSON:
		return con.Object(acceptReply{found.Identity, !found.Whole(), found.Lost, found.SettingsLost})
	case !found.Whole():
		con.Linef("accepted: %s", redischeck.Losses(found))
		con.Linef("restart every server now")
		if found.SettingsLost {
			con.Linef("the settings are lost: first start one server on loopback, and create a token there (foliot token create)")
		}
	case found.Identity == "":
		con.Linef("this Redis has no store with an identity, so there is no loss to accept: restart every server; the first one creates a store")
	default:
		con.Linef("the store %s is complete, so there is no loss to accept: restart the servers that refuse it, because they remember another store", found.Identity)
	}
	return nil
}

// acceptReply is the output of -o json.
type acceptReply struct {
	Identity     string   `json:"identity"`
	Accepted     bool     `json:"accepted"` // something was lost
	Lost         []string `json:"lost,omitempty"`
	SettingsLost bool     `json:"settings_lost,omitempty"`
}
