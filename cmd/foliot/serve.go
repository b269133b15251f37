package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
)

type serveCmd struct {
	Listen string `default:"127.0.0.1:8750" env:"FOLIOT_LISTEN" placeholder:"HOST:PORT" help:"Where to listen; port 0 takes a free one (default: 127.0.0.1:8750)."`
	Data   string `default:"./foliot-data" env:"FOLIOT_DATA" placeholder:"DIR" help:"The directory that holds the tasks (default: ./foliot-data)."`
	Store  string `env:"FOLIOT_STORE" placeholder:"STORE" help:"Another store than --data: memory: forgets everything when the server stops; a directory is the same as --data."`

	EgressAllow []string `env:"FOLIOT_EGRESS_ALLOW" placeholder:"CIDR" help:"Let tasks call these addresses, such as 10.0.0.0/8. The public internet is open; so is loopback, unless --insecure-listen or --host lets others in."`
	Host        []string `env:"FOLIOT_HOST" placeholder:"NAME" help:"Answer requests for this host name too, as a proxy in front sends it. Addresses and localhost are always answered."`
	BodyLimit   int      `default:"262144" env:"FOLIOT_BODY_LIMIT" placeholder:"BYTES" help:"The largest body of a task, at most 1048576 (default: 262144)."`
	Concurrency int      `default:"1024" env:"FOLIOT_CONCURRENCY" placeholder:"N" help:"How many attempts may be under way at once (default: 1024)."`

	Grace          time.Duration `default:"20s" env:"FOLIOT_GRACE" placeholder:"DURATION" help:"How long attempts under way may go on after a signal to stop (default: 20s)."`
	InsecureListen bool          `env:"FOLIOT_INSECURE_LISTEN" help:"Listen beyond loopback although there are no tokens yet: whoever reaches the port may create tasks and read their bodies."`

	LogFormat string `default:"text" enum:"text,json" env:"FOLIOT_LOG_FORMAT" placeholder:"text|json" help:"The form of the log on standard error (default: text)."`
	LogLevel  string `default:"info" enum:"debug,info,warn,error" env:"FOLIOT_LOG_LEVEL" placeholder:"LEVEL" help:"debug, info, warn or error (default: info)."`
}

// Help shows examples below the usage line.
func (serveCmd) Help() string {
	return `Runs the server until SIGTERM or SIGINT. Then it starts no more attempts, lets those under way end within --grace, and exits
with 0; an attempt that does not end in time is made again after the next start. A second signal stops it at once.

Examples:

    foliot serve
    foliot serve --data /var/lib/foliot --egress-allow 10.0.0.0/8,192.168.0.0/16
    foliot serve --listen 127.0.0.1:0 --store memory:`
}

// serveConfig is what the flags mean.
type serveConfig struct {
	addr        string
	dir         string // "" keeps tasks in memory
	allow       []netip.Prefix
	hosts       []string
	bodyLimit   int
	concurrency int
	grace       time.Duration
}

// maxConcurrency is more attempts than a process has descriptors for; room is
// set aside for as many as are asked for.
const maxConcurrency = 1_000_000

// Run serves until ctx ends.
func (c *serveCmd) Run(ctx context.Context, con *console) error {
	cfg, err := c.config()
	if err != nil {
		return err
	}
	log := c.logger(con)
	// What net/http has to say of receivers goes through log, not beside it, and
	// is no more than a detail: they would fill the log otherwise.
	slog.SetLogLoggerLevel(slog.LevelDebug)
	slog.SetDefault(log)
	n, err := openNode(cfg, log)
	if err != nil {
		return err
	}
	c.greet(con, n)
	return n.run(ctx)
}

func (c *serveCmd) config() (cfg serveConfig, err error) {
	cfg = serveConfig{hosts: c.Host, bodyLimit: c.BodyLimit, concurrency: c.Concurrency, grace: c.Grace}
	if cfg.addr, err = listenAddr("--listen", c.Listen); err != nil {
		return cfg, err
	}
	if !isLoopback(cfg.addr) && !c.InsecureListen {
		return cfg, badInput("--listen", "%s is reached from other machines, and there are no tokens yet: listen on 127.0.0.1 behind a proxy that asks who it is, or pass --insecure-listen", cfg.addr)
	}
	if cfg.dir, err = c.directory(); err != nil {
		return cfg, err
	}
	if cfg.allow, err = parsePrefixes("--egress-allow", c.EgressAllow); err != nil {
		return cfg, err
	}
	for _, host := range c.Host {
		if host == "" || strings.ContainsAny(host, "/?#@*, ") {
			return cfg, badInput("--host", "%q is no host name, such as foliot.example", host)
		}
	}
	switch {
	case c.BodyLimit < 1 || c.BodyLimit > task.MaxBody:
		return cfg, badInput("--body-limit", "%d does not lie between 1 and %d", c.BodyLimit, task.MaxBody)
	case c.Grace < 0:
		return cfg, badInput("--grace", "%v is negative", c.Grace)
	case c.Concurrency < 1 || c.Concurrency > maxConcurrency:
		return cfg, badInput("--concurrency", "%d does not lie between 1 and %d", c.Concurrency, maxConcurrency)
	}
	return cfg, nil
}

// directory returns where the tasks are, "" for memory.
func (c *serveCmd) directory() (string, error) {
	dir := c.Data
	switch scheme, _, isURL := strings.Cut(c.Store, ":"); {
	case c.Store == "memory:":
		return "", nil
	case isURL && len(scheme) > 1: // one letter is a Windows drive
		return "", badInput("--store", "%q is no store of this version; it is memory: or a directory", c.Store)
	case c.Store != "":
		dir = c.Store
	case dir == "":
		return "", badInput("--data", "it needs a directory; --store memory: needs none")
	}
	return filepath.Abs(dir)
}

// parsePrefixes reads a flag's CIDRs; an address alone is a prefix of its own.
func parsePrefixes(flag string, list []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, s := range list {
		if addr, err := netip.ParseAddr(s); err == nil {
			prefixes = append(prefixes, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, badInput(flag, "%q is no CIDR, such as 10.0.0.0/8", s)
		}
		prefixes = append(prefixes, p)
	}
	return prefixes, nil
}

func (c *serveCmd) logger(con *console) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.LogLevel)) // kong has checked the word
	opts := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(con.err, opts))
	}
	return slog.New(slog.NewTextHandler(con.err, opts))
}

// serveReply is what -o json prints when the server is ready.
type serveReply struct {
	URL        string `json:"url"`
	Data       string `json:"data,omitempty"`
	Durability string `json:"durability"`
}

// greet says where the server listens, where its data is, and what to try.
func (c *serveCmd) greet(con *console, n *node) {
	url := "http://" + reachable(n.listener.Addr())
	if con.json {
		_ = con.object(serveReply{URL: url, Data: n.cfg.dir, Durability: n.store.Durability()}) // whoever started it and went away does not read
		return
	}
	con.sayf("listening on http://%s", n.listener.Addr())
	if n.cfg.dir == "" {
		con.sayf("tasks in memory: they are gone when the server stops")
	} else {
		con.sayf("tasks in %s", n.cfg.dir)
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
