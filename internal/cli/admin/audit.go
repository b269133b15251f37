package admin

import (
	"context"
	"errors"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// Audit is the command foliot audit.
type Audit struct {
	Action string `placeholder:"ACTION" help:"Only this action: task.cancel, tasks.cancel, queue.pause, token.revoke …"`
	Target string `placeholder:"NAME" help:"Only changes of this task, queue, token or secret."`
	By     string `placeholder:"ACTOR" help:"Only changes by this actor: token:<id>, anonymous or upkeep."`
	Since  string `placeholder:"TIME" help:"Only changes since this time: 2030-01-02T15:04:05Z, or a duration from now (-1h)."`
	Until  string `placeholder:"TIME" help:"Only changes before this time."`
	Limit  int    `short:"n" default:"100" placeholder:"N" help:"Show at most this many entries; 0 shows all (default: 100)."`
}

func (Audit) Help() string {
	return `Shows the audit log: what people did, the newest first. Who created a task and who changed it last is in foliot get. Entries never
change. The newest 100,000 stay until their retention ends (foliot serve --audit-keep). This needs a token of scope admin.

Examples:

    foliot audit --since -1h
    foliot audit --target mail
    foliot audit --action token.create -o json`
}

func (c *Audit) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if c.Limit < 0 {
		return usage.Errorf("--limit", "%d is negative; 0 shows all", c.Limit)
	}
	query, now := admin.AuditQuery{Action: c.Action, Target: c.Target, By: c.By}, time.Now()
	var err error
	if query.From, err = flags.ParseBound("--since", c.Since, now); err != nil {
		return err
	}
	if query.Until, err = flags.ParseBound("--until", c.Until, now); err != nil {
		return err
	}
	out := con.Table([]string{"TIME", "BY", "FROM", "ACTION", "NAMESPACE", "TARGET", "DETAIL"})
	shown := 0
	for e, err := range admin.New(api).Audit(ctx, query) {
		if err != nil {
			return errors.Join(err, out.End())
		}
		if c.Limit > 0 && shown == c.Limit {
			err := out.End()
			con.Notef("showing the newest %d; --limit 0 shows all", shown)
			return err
		}
		err = out.Item(e, wording.Instant(e.At), e.By, e.Addr, e.Action, e.Namespace, e.Target, e.Detail)
		if err != nil {
			return err
		}
		shown++
	}
	return out.End()
}
