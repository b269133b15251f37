package cli

import (
	"context"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/doctor"
	"github.com/foliot/foliot/internal/redischeck"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/store/redisstore"
)

type redisCmd struct {
	AcceptLoss redisAcceptCmd `cmd:"" help:"Accept the loss of a part of the store, and go on with the rest."`
}

type redisAcceptCmd struct {
	URL string `arg:"" optional:"" help:"The Redis, as for foliot serve --store, which is taken without it."`
	Yes bool   `short:"y" help:"Do not ask."`

	config.Flags
}

// Help shows examples below the usage line.
func (redisAcceptCmd) Help() string {
	return `A store in Redis has an identity, which lies in each of its parts and in the memory of each server. When a part loses it (a master of a Cluster came
back empty, the settings were deleted), all servers refuse everything and send nothing, and no server starts. Restore the data if you can: the
servers go on by themselves. If you cannot, this command gives the identity to the parts that lost it. It lists the lost parts, and asks.

What was lost stays lost: the tasks of those parts, and the settings with all access tokens and signing secrets. Restart every server afterwards.
If the settings are lost, start one server on loopback first and make a token there, before any server listens beyond loopback.

A Redis that is empty, or that holds another store, needs no command: servers that are started take it as it is. Those that run know another
store and stay closed until they are restarted.

Examples:

    foliot redis accept-loss redis://127.0.0.1:6379
    FOLIOT_STORE=redis+cluster://foliot:PASSWORD@10.0.0.1,10.0.0.2 foliot redis accept-loss --yes`
}

// Run finds the lost parts, asks, and accepts the loss.
func (c *redisAcceptCmd) Run(ctx context.Context, con *console, parsed *kong.Context, file *config.Values) error {
	u, settings, err := c.RedisAt(c.URL, parsed, file)
	if err != nil {
		return err
	}
	person := ctx // an answer may take longer than a Redis
	ctx, stop := context.WithTimeout(ctx, doctor.RedisTime)
	defer stop()
	var refused error
	found, err := redisstore.AcceptLoss(ctx, settings, func(f *redisstore.Found) error {
		if !c.Yes {
			refused = con.confirm(person, "%s. This loss is final. Go on with the rest of the store?", redischeck.Losses(f))
		}
		return refused
	})
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return u.Explain("accept the loss in", err)
	case con.json:
		return con.object(acceptReply{found.Identity, !found.Whole(), found.Lost, found.SettingsLost})
	case !found.Whole():
		con.sayf("accepted: %s", redischeck.Losses(found))
		con.sayf("restart every server now")
		if found.SettingsLost {
			con.sayf("the settings are lost: start one server on loopback first, and make a token there (foliot token create)")
		}
	case found.Identity == "":
		con.sayf("there is no store there that has an identity, so there is nothing to accept: restart every server; the first makes a store")
	default:
		con.sayf("the store %s is whole, so there is nothing to accept: restart the servers that refuse it, as they know another one", found.Identity)
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
