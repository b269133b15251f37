package cli

import (
	"context"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

type secretCmd struct {
	Create secretCreateCmd `cmd:"" help:"Make a signing secret; it is shown once."`
	Ls     secretLsCmd     `cmd:"" help:"List the secrets that sign, not themselves."`
	Rm     secretRmCmd     `cmd:"" help:"Remove secrets: they sign nothing any more."`
}

type secretCreateCmd struct {
	Queue   string        `placeholder:"QUEUE" help:"Sign only callbacks of this queue, which then uses only its own secrets (default: all queues without a secret of their own)."`
	Overlap time.Duration `placeholder:"DURATION" help:"How long the present secrets also sign (default: until they are removed; with the first secret of a queue, not at all)."`
}

// Help shows examples below the usage line.
func (secretCreateCmd) Help() string {
	return `Prints the secret, and nothing else, on standard output: give it to the receivers, it is not shown again. From then on every callback of the
namespace, or of the queue, is signed with it, as Standard Webhooks says; at most two secrets of each sign at once.

A receiver that knows a secret can sign callbacks with it. So give each receiver a queue and a secret of its own, unless all trust each other.

To rotate without a rejected callback: give the receivers a second secret to accept, made with --overlap 24h; both sign until then.

Examples:

    foliot secret create
    foliot secret create --overlap 24h
    foliot secret create --queue billing --overlap 24h
    foliot listen --verify "$(foliot secret create)"`
}

// Run makes a secret.
func (c *secretCreateCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	if c.Overlap < 0 {
		return usage.Errorf("--overlap", "%v is negative", c.Overlap)
	}
	made, err := api.Secrets.Create(ctx, client.SecretSpec{Queue: c.Queue, Overlap: c.Overlap})
	if err != nil {
		return err
	}
	if con.json {
		return con.object(made)
	}
	con.sayf("%s", made.Secret)
	con.notef("it signs %s from now on; its id is %s", signedBy(made), made.ID)
	return nil
}

// signedBy says which callbacks a secret signs.
func signedBy(s *client.Secret) string {
	if s.Queue == "" {
		return "all queues without a secret of their own"
	}
	return "the queue " + s.Queue
}

type secretLsCmd struct{}

// Run prints the list.
func (secretLsCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	list, err := api.Secrets.List(ctx)
	if err != nil {
		return err
	}
	out := con.table([]string{"ID", "SIGNS", "CREATED", "SIGNS UNTIL"})
	for _, s := range list {
		if con.json {
			err = con.object(s)
		} else {
			err = out.add(s.ID, signedBy(s), wording.Instant(s.CreatedAt), wording.InstantOr(s.ExpiresAt, "it is removed"))
		}
		if err != nil {
			return err
		}
	}
	return endTable(con, out)
}

type secretRmCmd struct {
	IDs []string `arg:"" name:"id" help:"The secrets' ids, as foliot secret ls shows them."`
}

// Run removes secrets.
func (c *secretRmCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	return eachName(ctx, con, c.IDs, func(id string) error {
		s, err := api.Secrets.Delete(ctx, id)
		if err != nil {
			return err
		}
		if con.json {
			return con.object(s)
		}
		con.sayf("removed %s: it signs nothing any more", id)
		return nil
	})
}
