package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
)

type doctorEgressCmd struct {
	URL string `arg:"" help:"The URL that a task would call."`
}

func (doctorEgressCmd) Help() string {
	return `Checks whether tasks may call a URL, and shows why. It asks the running server (--server, and an operator's token if the server has
tokens). The server resolves the host as for an attempt, and checks each address against its own settings. It does not connect
to the URL. One open address is enough, because an attempt ignores denied addresses. If all addresses are denied, the task is dead
at once, with the reason egress_denied.

It exits with 0 if tasks may call the URL, with 7 if they may not, and with 1 if the host does not resolve.

Examples:

    foliot doctor egress https://shop.example/orders
    foliot doctor egress http://169.254.169.254/latest/meta-data -o json | jq .addresses`
}

func (c *doctorEgressCmd) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	e, err := admin.New(api).Egress(ctx, c.URL)
	if err != nil {
		return err
	}
	if err := printEgress(con, e); err != nil {
		return err
	}
	switch {
	case e.Problem != "":
		return exit.With(exit.Failure, errors.New(e.Problem))
	case !e.Open:
		remedy := ""
		if slices.ContainsFunc(e.Addresses, func(a admin.EgressAddress) bool { return a.Opener != "" }) { // others stay closed
			remedy = "; foliot serve --egress-allow opens addresses"
		}
		return exit.With(exit.Denied, fmt.Errorf("%s: tasks may not call this URL: they would be dead at their due time, with the reason egress_denied%s", c.URL, remedy))
	}
	return nil
}

func printEgress(con *console.Console, e *admin.Egress) error {
	if con.JSON {
		return con.Object(e)
	}
	if len(e.Addresses) == 0 {
		return nil
	}
	return console.Items(con, []string{"ADDRESS", "VERDICT", "WHY"}, e.Addresses, func(a admin.EgressAddress) []string {
		return []string{a.Address, map[bool]string{true: "open", false: "denied"}[a.Open], a.Reason}
	})
}
