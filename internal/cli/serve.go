package cli

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/redact"
	"github.com/foliot/foliot/internal/server"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/server/httpserver"
)

type serveCmd struct{ config.Flags }

func (serveCmd) Help() string {
	return `Runs the server until SIGTERM or SIGINT. Then it starts no more attempts, waits up to --grace for the running ones, and exits with 0.
An attempt that does not end in time is repeated after the next start. A second signal stops the server at once.

Servers with the same Redis or PostgreSQL in --store share its tasks: each server delivers a part of them and accepts requests
for all. If a server stops or crashes, the others take over. Before you use a Redis, check it with foliot doctor redis. Before you
use a PostgreSQL, run foliot postgres migrate. foliot cluster nodes lists the servers.

A flag overrides its variable, a variable overrides the file of --config, and the file overrides the default. foliot config
prints the resulting configuration.

Examples:

    foliot serve
    foliot serve --data /var/lib/foliot --egress-allow 10.0.0.0/8,192.168.0.0/16
    foliot serve --config /etc/foliot.yaml
    foliot serve --listen 0.0.0.0:443 --tls-cert foliot.crt --tls-key foliot.key --host foliot.example
    foliot serve --listen 127.0.0.1:0 --store memory:
    FOLIOT_STORE=redis://foliot:PASSWORD@127.0.0.1:6379 foliot serve
    FOLIOT_STORE=redis+sentinel://foliot:PASSWORD@10.0.0.1,10.0.0.2,10.0.0.3/MASTER foliot serve --node a --durability strict`
}

func (c *serveCmd) Run(ctx context.Context, con *console.Console, parsed *kong.Context, file *config.Values) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // which stops all other commands
	cfg, from, err := c.ResolveFrom(parsed, file)
	if err != nil {
		return err
	}
	if note := flags.UnusedData(from, cfg.Servers()); note != "" {
		con.Notef("%s", note)
	}
	log := redact.NewLogger(con.Err, c.LogFormat, c.LogLevel)
	// Messages of libraries go through log too, at debug level. Otherwise they would
	// break its format.
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(log)
	s, err := server.Open(ctx, cfg, log)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // interrupted while it waited
	case err != nil:
		return err
	}
	c.printAddresses(con, cfg, s)
	return s.Run(ctx, hangup)
}

// serveReply is the output of -o json, printed when the server is ready.
type serveReply struct {
	URL        string `json:"url"`
	PID        int    `json:"pid"`
	Data       string `json:"data,omitempty"`
	Store      string `json:"store,omitempty"` // a Redis or PostgreSQL, without its password
	Durability string `json:"durability"`
}

// printAddresses prints the addresses of the server and of its data, and a
// first command to try.
func (c *serveCmd) printAddresses(con *console.Console, cfg config.Config, s *server.Server) {
	scheme := "http://"
	if cfg.TLS.Cert != "" {
		scheme = "https://"
	}
	url := scheme + httpserver.ReachableAddr(s.Addr())
	if con.JSON {
		reply := serveReply{URL: url, PID: os.Getpid(), Data: cfg.Dir, Store: cfg.Servers(), Durability: s.Node.Store.Standing().Durability}
		_ = con.Object(reply) // the server runs even if its output has no reader
		return
	}
	con.Linef("listening on %s%s", scheme, s.Addr())
	if host, _, err := net.SplitHostPort(c.Listen); err != nil || host == "" {
		con.Linef("--listen %s names no host, so only this machine can connect; 0.0.0.0:%d listens on all addresses", c.Listen, s.Addr().(*net.TCPAddr).Port)
	}
	switch {
	case cfg.InMemory():
		con.Linef("tasks in memory: they are lost when the server stops")
	default:
		con.Linef("tasks in %s", cmp.Or(cfg.Dir, cfg.Servers()))
	}
	con.Linef("web page at %s/ui/", url)
	con.Linef("process %d; to stop it, press Ctrl-C or run kill %d", os.Getpid(), os.Getpid())
	if !s.LoopbackOpen() {
		return // the task of listen --try would be refused
	}
	server := ""
	if c.Listen != "127.0.0.1:8750" {
		server = " --server " + url
	}
	program := "foliot"
	if strings.ContainsRune(os.Args[0], '/') { // it is not found by its name
		program = os.Args[0]
	}
	con.Linef("try, in another terminal: %s listen --try 3s%s", program, server)
}
