package admin

import (
	"context"
	"errors"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
)

// Secret has the commands of foliot secret.
type Secret struct {
	Create secretCreateCmd `cmd:"" help:"Create a signing secret. It is shown only once."`
	Ls     secretLsCmd     `cmd:"" aliases:"list" help:"List the signing secrets: ids and queues, without the secrets themselves."`
	Rm     secretRmCmd     `cmd:"" aliases:"delete" help:"Remove secrets. They sign no callbacks any more."`
}

type secretCreateCmd struct {
	Queue   string        `placeholder:"QUEUE" help:"Sign only callbacks of this queue, which then uses only its own secrets (default: all queues without their own secret)."`
	Overlap time.Duration `placeholder:"DURATION" help:"How long the existing secrets also sign (default: until they are removed; with the first secret of a queue, not at all)."`
}

func (secretCreateCmd) Help() string {
	return `Prints only the secret on standard output. Pass it to the receivers: it cannot be shown again. From now on it signs every
callback of the namespace, or of the queue, as Standard Webhooks defines it. At most two secrets sign at the same time.

A receiver that knows a secret can sign callbacks with it. So use a queue and a secret per receiver, unless all receivers trust
each other.

To rotate a secret without a rejected callback: create a second secret with --overlap 24h, and let the receivers accept it
within that time. Both secrets sign until then.

Examples:

    foliot secret create
    foliot secret create --overlap 24h
    foliot secret create --queue billing --overlap 24h
    foliot listen --verify "$(foliot secret create)"`
}

func (c *secretCreateCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	made, err := admin.New(api).Secrets.Create(ctx, admin.SecretSpec{Queue: c.Queue, Overlap: c.Overlap})
	if err != nil {
		return err
	}
	if con.JSON {
		return con.Object(made)
	}
	con.Linef("%s", made.Secret)
	where := ""
	if name := con.Namespace(); name != "" {
		where = " in the namespace " + name
	}
	con.Notef("it signs the callbacks of %s%s from now on; its id is %s", signedBy(made), where, made.ID)
	return nil
}

func signedBy(s *admin.Secret) string {
	if s.Queue == "" {
		return "all queues without their own secret"
	}
	return "the queue " + s.Queue
}

type secretLsCmd struct{}

func (secretLsCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	return console.List(con, []string{"ID", "SIGNS", "CREATED", "SIGNS UNTIL"}, admin.New(api).Secrets.List(ctx), func(s *admin.Secret) []string {
		return []string{s.ID, signedBy(s), wording.Instant(s.CreatedAt), wording.InstantOr(s.ExpiresAt, "it is removed")}
	})
}

type secretRmCmd struct {
	IDs []string `arg:"" name:"id" help:"The ids of the secrets, as foliot secret ls shows them."`
}

func (c *secretRmCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	return con.ForEachName(ctx, c.IDs, func(id string) error {
		s, err := admin.New(api).Secrets.Delete(ctx, id)
		if err != nil {
			return err
		}
		err = con.Resultf(s, "removed %s: it signs no callbacks any more", id)
		return errors.Join(err, exit.Applied(s.Unconfirmed))
	})
}
