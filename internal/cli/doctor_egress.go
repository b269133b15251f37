package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/doctor"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/service"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/webhook"
	"github.com/foliot/foliot/internal/wire"
)

type doctorEgressCmd struct {
	URL string `arg:"" help:"The URL that a task would call."`

	Offline      bool `file:"-" help:"Ask no server. Check like a server that starts with these flags, variables and --config."`
	OpenLoopback bool `file:"-" help:"Check like a server without tokens, where loopback is open unless --listen, --host or --trusted-proxy allow other clients. Implies --offline."`

	config.Flags
}

// Help shows examples below the usage line.
func (doctorEgressCmd) Help() string {
	return `Checks whether tasks may call a URL, and shows why. It asks the running server (--server, and an operator's token if the server has
tokens). The server resolves the host as for an attempt, and checks each address against its own settings. It does not connect
to the URL. One open address is enough, because an attempt ignores denied addresses. If all addresses are denied, the task is dead
at once, with the reason egress_denied.

With --offline, or with any flag of foliot serve on the command line, it asks no server. It then checks like a server that
starts here with these flags, variables and --config. This check knows only the store servers that --store names, and no other
nodes.

It exits with 0 if tasks may call the URL, with 7 if they may not, and with 1 if the host does not resolve.

Examples:

    foliot doctor egress https://shop.example/orders
    foliot doctor egress http://10.1.2.3:9000 --egress-allow 10.0.0.0/8
    foliot doctor egress http://10.1.2.3:9000 --config /etc/foliot.yaml
    foliot doctor egress http://169.254.169.254/latest/meta-data -o json | jq .addresses`
}

// Run prints the verdict on the URL.
func (c *doctorEgressCmd) Run(ctx context.Context, con *console.Console, dial connect.Dialer, parsed *kong.Context, file *config.Values) error {
	if c.Offline || givesOwnFlag(parsed) {
		return c.judge(ctx, con, parsed, file)
	}
	api, err := dial()
	if err != nil {
		return err
	}
	verdict, err := api.Admin.Egress(ctx, c.URL)
	var noReply *client.TransportError
	if errors.As(err, &noReply) {
		return fmt.Errorf("%w; or pass --offline to check without a server", err)
	}
	if err != nil {
		return err
	}
	shown := wire.Egress{URL: c.URL, Scheme: verdict.Scheme, Host: verdict.Host, Port: verdict.Port, Open: verdict.Open, Problem: verdict.Problem, Addresses: []wire.EgressAddress{}}
	for _, a := range verdict.Addresses {
		shown.Addresses = append(shown.Addresses, wire.EgressAddress(a))
	}
	return reportEgress(con, shown)
}

// givesOwnFlag reports whether a flag of the command itself is on the command
// line. Variables do not count, because they may be meant for another server.
func givesOwnFlag(parsed *kong.Context) bool {
	return slices.ContainsFunc(parsed.Path, func(p *kong.Path) bool {
		return p.Flag != nil && !p.Resolved && slices.Contains(parsed.Selected().Flags, p.Flag)
	})
}

// judge prints the verdict of a server that would start with these settings.
func (c *doctorEgressCmd) judge(ctx context.Context, con *console.Console, parsed *kong.Context, file *config.Values) error {
	settings, err := c.Resolve()
	var guard *webhook.Guard
	if err == nil {
		guard, err = doctor.Guard(ctx, settings, c.OpenLoopback)
	}
	if err != nil {
		return config.OriginsOf(parsed, file).Locate(err)
	}
	ctx, cancel := context.WithTimeout(ctx, service.LookupTimeout)
	defer cancel()
	e := guard.Explain(ctx, c.URL, net.DefaultResolver.LookupNetIP)
	if e.Host == "" {
		return usage.Errorf("URL", "%s", e.Problem)
	}
	return reportEgress(con, service.ShowEgress(c.URL, e))
}

// reportEgress prints a verdict, and returns the error that chooses the exit
// code.
func reportEgress(con *console.Console, e wire.Egress) error {
	if err := printEgress(con, e); err != nil {
		return err
	}
	switch {
	case e.Problem != "":
		return exit.With(exit.Failure, errors.New(e.Problem))
	case !e.Open:
		remedy := ""
		if slices.ContainsFunc(e.Addresses, func(a wire.EgressAddress) bool { return a.Opener != "" }) { // others stay closed
			remedy = "; foliot serve --egress-allow opens addresses"
		}
		return exit.With(exit.Denied, fmt.Errorf("%s: tasks may not call this URL: they would be dead at their due time, with the reason %s%s", e.URL, webhook.ReasonEgressDenied, remedy))
	}
	return nil
}

func printEgress(con *console.Console, e wire.Egress) error {
	if con.JSON {
		return con.Object(e)
	}
	if len(e.Addresses) == 0 {
		return nil
	}
	out := con.Table([]string{"ADDRESS", "VERDICT", "WHY"})
	for _, a := range e.Addresses {
		verdict := "denied"
		if a.Open {
			verdict = "open"
		}
		if err := out.Add(a.Address, verdict, a.Reason); err != nil {
			return err
		}
	}
	return out.End()
}
