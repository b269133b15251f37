package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
	"github.com/foliot/foliot/internal/webhook"
)

type doctorEgressCmd struct {
	URL string `arg:"" help:"The URL that a task would call."`

	OpenLoopback bool `file:"-" help:"Judge like a server that has no token: loopback is open, unless --listen, --host or --trusted-proxy let others in."`

	serveFlags
}

// Help shows examples below the usage line.
func (doctorEgressCmd) Help() string {
	return `Says whether tasks may call a URL, and why: it resolves the host here and now, as the server does for each connection, and judges each
address. Nothing is connected to: of the store it knows the servers that --store names, not those that a running server has discovered,
nor the other nodes. Run it on the server's machine, with the server's flags, variables and --config: it takes what foliot
serve takes. One open address is enough; the denied ones are left out. A task whose addresses are all denied is dead at once, with the
reason egress_denied.

It exits with 0 when tasks may call the URL, with 7 when they may not, and with 1 when the host does not resolve.

Examples:

    foliot doctor egress https://shop.example/orders
    foliot doctor egress http://10.1.2.3:9000 --egress-allow 10.0.0.0/8
    foliot doctor egress http://10.1.2.3:9000 --config /etc/foliot.yaml
    foliot doctor egress http://169.254.169.254/latest/meta-data -o json | jq .addresses`
}

// lookupTimeout is how long a name may take to resolve.
const lookupTimeout = 10 * time.Second

// Run explains the verdict on the URL.
func (c *doctorEgressCmd) Run(ctx context.Context, con *console, parsed *kong.Context, file *configValues) error {
	guard, err := c.guard(ctx)
	if err != nil {
		return originsOf(parsed, file).locate(err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	e := guard.Explain(ctx, c.URL, net.DefaultResolver.LookupNetIP)
	if e.Host == "" {
		return badInput("URL", "%s", e.Problem)
	}
	return c.report(con, e)
}

// guard returns the guard that a server with these settings has.
func (c *doctorEgressCmd) guard(ctx context.Context) (*webhook.Guard, error) {
	server, err := c.meaning()
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(server.addr)
	if err != nil {
		return nil, err
	}
	own, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, badInput("--listen", "%s has no address", host)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	var listening []netip.AddrPort
	for _, a := range own {
		listening = append(listening, netip.AddrPortFrom(a, uint16(number)))
	}
	parts := newOwnAddresses(slog.New(slog.DiscardHandler), listening, server.collectorAddr, server.storeAddrs)
	parts.refresh(ctx, time.Now())
	return webhook.NewGuard(webhook.Config{
		Allow: server.allow, Deny: server.deny,
		AllowLoopback: func() bool { return c.OpenLoopback && server.private() },
		Own:           parts.set.Load,
	}), nil
}

// egressReply is what -o json prints.
type egressReply struct {
	URL       string          `json:"url"`
	Scheme    string          `json:"scheme"`
	Host      string          `json:"host"`
	Port      uint16          `json:"port"`
	Open      bool            `json:"open"`
	Problem   string          `json:"problem,omitempty"` // why there is no address
	Addresses []egressAddress `json:"addresses"`
}

type egressAddress struct {
	Address string `json:"address"`
	Open    bool   `json:"open"`
	Reason  string `json:"reason"`
	Opener  string `json:"opener,omitempty"` // what --egress-allow must name, or what it names that opens it
}

// report prints e, and returns the error that chooses the exit code.
func (c *doctorEgressCmd) report(con *console, e webhook.Explanation) error {
	reply := egressReply{URL: c.URL, Scheme: e.Scheme, Host: e.Host, Port: e.Port, Open: e.Open(), Problem: e.Problem, Addresses: []egressAddress{}}
	for _, j := range e.Addresses {
		opener := j.Opener
		if j.Denied != nil {
			opener = j.Denied.Opener
		}
		a := egressAddress{Address: j.Addr.Addr().String(), Open: j.Open(), Reason: j.Reason()}
		if opener.IsValid() {
			a.Opener = opener.String()
		}
		reply.Addresses = append(reply.Addresses, a)
	}
	if err := reply.print(con); err != nil {
		return err
	}
	switch {
	case e.Problem != "":
		return &fault{exitFailure, errors.New(e.Problem)}
	case !e.Open():
		return &fault{exitDenied, fmt.Errorf("%s: tasks may not call it: they would be dead at once, with the reason %s", c.URL, webhook.ReasonEgressDenied)}
	}
	return nil
}

func (r egressReply) print(con *console) error {
	if con.json {
		return con.object(r)
	}
	out := con.table([]string{"ADDRESS", "VERDICT", "WHY"})
	for _, a := range r.Addresses {
		verdict := "denied"
		if a.Open {
			verdict = "open"
		}
		if err := out.add(a.Address, verdict, a.Reason); err != nil {
			return err
		}
	}
	if len(r.Addresses) == 0 {
		return nil
	}
	return out.end()
}
