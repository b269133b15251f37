package admin

import (
	"context"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/contexts"
	"github.com/foliot/foliot/internal/cli/wording"
)

// Whoami is the command foliot whoami.
type Whoami struct{}

func (Whoami) Help() string {
	return `Shows the URL of the server, the context, the namespace and the scope of the token in use, and the server that replies. "clock
ahead" is the distance of the server's clock from the clock of this machine. It is negative if the server's clock is behind.

Examples:

    foliot whoami
    foliot whoami -o json | jq -r .token.expires_at`
}

func (Whoami) Run(ctx context.Context, con *console.Console, api *client.Client, given *connect.Flags) error {
	asked := time.Now()
	me, err := admin.New(api).Whoami(ctx)
	if err != nil {
		return err
	}
	if con.JSON {
		return con.Object(me)
	}
	target, err := given.Target()
	if err != nil {
		return err
	}
	var rows console.Rows
	rows.Add("url", target.Server)
	if target.Name != contexts.None {
		rows.Add("context", target.Name)
	}
	rows.Add("namespace", me.Namespace)
	rows.Add("scope", string(me.Scope))
	if me.Operator {
		rows.Add("operator", "yes")
	}
	if t := me.Token; t != nil {
		rows.Add("token", t.ID)
		rows.Add("label", t.Label)
		rows.Add("expires", wording.InstantOr(t.ExpiresAt, "never"))
	} else {
		rows.Add("token", "none: the server has no tokens")
	}
	rows.Add("server", me.Node)
	rows.Add("version", me.Version)
	rows.Add("store", me.Store)
	rows.Add("durability", me.Durability)
	rows.Add("clock", wording.Instant(me.Now))
	// The server read its clock between the request and the reply.
	rows.Add("clock ahead", me.Now.Sub(asked.Add(time.Since(asked)/2)).Round(time.Millisecond).String())
	return rows.Print(con)
}
