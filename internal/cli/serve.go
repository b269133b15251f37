package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/redact"
	"github.com/foliot/foliot/internal/server"
	"github.com/foliot/foliot/internal/server/config"
)

type serveCmd struct{ config.Flags }

// Help shows examples below the usage line.
func (serveCmd) Help() string {
	return `Runs the server until SIGTERM or SIGINT. Then it starts no more attempts, lets those under way end within --grace, and exits
with 0; an attempt that does not end in time is made again after the next start. A second signal stops it at once.

Servers with the same Redis in --store share its tasks: each delivers a part of them, and takes requests for all. When one stops or dies, the others
take over. foliot doctor redis says beforehand whether a Redis is fit for that, foliot cluster nodes who is there.

A flag goes before its variable, a variable before the file of --config, and that before the default. foliot config prints what
comes of them.

Examples:

    foliot serve
    foliot serve --data /var/lib/foliot --egress-allow 10.0.0.0/8,192.168.0.0/16
    foliot serve --config /etc/foliot.yaml
    foliot serve --listen 0.0.0.0:443 --tls-cert foliot.crt --tls-key foliot.key --host foliot.example
    foliot serve --listen 127.0.0.1:0 --store memory:
    FOLIOT_STORE=redis://foliot:PASSWORD@127.0.0.1:6379 foliot serve
    FOLIOT_STORE=redis+sentinel://foliot:PASSWORD@10.0.0.1,10.0.0.2,10.0.0.3/MASTER foliot serve --node a --durability strict`
}

// Run serves until ctx ends.
func (c *serveCmd) Run(ctx context.Context, con *console, parsed *kong.Context, file *config.Values) error {
	cfg, err := c.Resolve()
	if err != nil {
		return config.OriginsOf(parsed, file).Locate(err)
	}
	log := redact.NewLogger(con.err, c.LogFormat, c.LogLevel)
	// What net/http has to say of receivers goes through log, not beside it, and
	// is no more than a detail: they would fill the log otherwise.
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(log)
	s, err := server.Open(ctx, cfg, log)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // it was to stop while it waited
	case err != nil:
		return err
	}
	c.greet(con, cfg, s)
	return s.Run(ctx)
}

// serveReply is what -o json prints when the server is ready.
type serveReply struct {
	URL        string `json:"url"`
	PID        int    `json:"pid"` // of the server's process
	Data       string `json:"data,omitempty"`
	Store      string `json:"store,omitempty"` // a Redis, without its password
	Durability string `json:"durability"`
}

// greet says where the server listens, where its data is, and what to try.
func (c *serveCmd) greet(con *console, cfg config.Config, s *server.Server) {
	scheme := "http://"
	if cfg.TLS.Cert != "" {
		scheme = "https://"
	}
	url := scheme + reachable(s.Addr())
	if con.json {
		reply := serveReply{URL: url, PID: os.Getpid(), Data: cfg.Dir, Durability: s.Durability()}
		if cfg.Redis != nil {
			reply.Store = cfg.Redis.String()
		}
		_ = con.object(reply) // whoever started it and went away does not read
		return
	}
	con.sayf("listening on %s%s", scheme, s.Addr())
	if host, _, err := net.SplitHostPort(c.Listen); err != nil || host == "" {
		con.sayf("--listen %s names no host, so it means this machine alone; 0.0.0.0:%d means all of its addresses", c.Listen, s.Addr().(*net.TCPAddr).Port)
	}
	switch {
	case cfg.Redis != nil:
		con.sayf("tasks in %s", cfg.Redis)
	case cfg.InMemory():
		con.sayf("tasks in memory: they are gone when the server stops")
	default:
		con.sayf("tasks in %s", cfg.Dir)
	}
	con.sayf("process %d; Ctrl-C, or kill %d, stops it", os.Getpid(), os.Getpid())
	if !s.Node.LoopbackOpen() {
		return // the trial's task would be refused
	}
	server := ""
	if c.Listen != "127.0.0.1:8750" {
		server = " --server " + url
	}
	con.sayf("try, in another terminal: foliot listen --try 3s%s", server)
}

// reachable returns addr as a client on this machine writes it.
func reachable(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
}
