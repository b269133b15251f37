package config

import (
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/redact"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/server/redisurl"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

// Config is what the flags of serve mean, checked as far as that goes
// without opening anything.
type Config struct {
	Addr     string
	Hosts    []string
	TLS      httpserver.TLSFiles
	Proxies  []netip.Prefix // that may say for whom they ask
	Idle     time.Duration  // a connection without a request
	Insecure bool           // the operator takes the risk of listening as it is

	Dir       string        // "": they are not in a directory
	Redis     *redisurl.URL // nil: nor in a Redis; then they are in memory
	Sharing   Sharing
	BodyLimit int
	Keep      task.Policy
	AuditKeep time.Duration

	Allow, Deny     []netip.Prefix
	Concurrency     int
	Lease           time.Duration
	BreakerFailures int // 0: no breaker
	BreakerMax      time.Duration
	Grace           time.Duration

	Metrics bool
	OTLP    string // "" traces nothing
	Sample  float64
}

// MaxConcurrency is more attempts than a process has descriptors for; room is
// set aside for as many as are asked for.
const MaxConcurrency = 1_000_000

// Resolve checks the flags. An error is a usage.Error, which names the flag.
func (f *Flags) Resolve() (cfg Config, err error) {
	cfg = Config{
		Hosts: f.Host, TLS: httpserver.TLSFiles{Cert: f.TLSCert, Key: f.TLSKey, ClientCA: f.TLSClientCA},
		Idle: f.IdleTimeout, Insecure: f.InsecureListen,
		BodyLimit: f.BodyLimit, Keep: task.Policy{KeepFinished: f.KeepFinished, KeepDead: f.KeepDead}, AuditKeep: f.AuditKeep,
		Concurrency: f.Concurrency, Lease: f.Lease, BreakerFailures: f.BreakerFailures, BreakerMax: f.BreakerMax, Grace: f.Grace,
		Metrics: f.Metrics, OTLP: f.OTLPEndpoint, Sample: f.TraceSample,
	}
	if cfg.Addr, err = httpserver.ListenAddr("--listen", f.Listen); err != nil {
		return cfg, err
	}
	if redisurl.Is(f.Store) {
		cfg.Redis, cfg.Sharing, err = f.redisStore()
	} else if cfg.Dir, err = f.directory(); err == nil {
		err = f.checkNoRedis()
	}
	if err != nil {
		return cfg, err
	}
	for _, list := range []struct {
		flag  string
		texts []string
		into  *[]netip.Prefix
	}{
		{"--trusted-proxy", f.TrustedProxy, &cfg.Proxies},
		{"--egress-allow", f.EgressAllow, &cfg.Allow},
		{"--egress-deny", f.EgressDeny, &cfg.Deny},
	} {
		if *list.into, err = parsePrefixes(list.flag, list.texts); err != nil {
			return cfg, err
		}
	}
	if err := f.checkListening(cfg.Proxies); err != nil {
		return cfg, err
	}
	for _, check := range []func() error{f.checkDurations, f.checkNumbers, f.checkTracing} {
		if err := check(); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// directory returns where the tasks are, "" for memory.
func (f *Flags) directory() (string, error) {
	dir := f.Data
	switch scheme, _, isURL := strings.Cut(f.Store, ":"); {
	case f.Store == "memory:":
		return "", nil
	case isURL && len(scheme) > 1: // one letter is a Windows drive
		return "", usage.Errorf("--store", "%q is no store of this version; it is memory:, a directory, or the URL of a Redis, such as %s", redact.Text(f.Store), redisurl.Example)
	case f.Store != "":
		dir = f.Store
	case dir == "":
		return "", usage.Errorf("--data", "it needs a directory; --store memory: needs none")
	}
	return LocalDir("--data", dir)
}

// LocalDir returns a directory's full path. A Redis, which is none, would become
// one of a strange name.
func LocalDir(flag, dir string) (string, error) {
	if redisurl.Is(dir) {
		return "", usage.Errorf(flag, "it needs a directory, and this is the URL of a Redis: only foliot serve --store and foliot doctor redis take one")
	}
	return filepath.Abs(dir)
}

// InMemory reports whether the tasks end with the process.
func (c *Config) InMemory() bool { return c.Dir == "" && c.Redis == nil }

// firstToken says how to make the first token.
func (c *Config) firstToken() string {
	if c.Redis != nil {
		return "start it once with --listen 127.0.0.1:8750 and make one with `foliot token create --for operator --scope admin`"
	}
	return "make one with `foliot token create --for operator --scope admin --data " + c.Dir + "`"
}

// parsePrefixes reads CIDRs; an address alone is a prefix of its own.
func parsePrefixes(flag string, list []string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for _, s := range list {
		if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
			prefixes = append(prefixes, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, usage.Errorf(flag, "%q is no CIDR, such as 10.0.0.0/8", s)
		}
		prefixes = append(prefixes, p)
	}
	return prefixes, nil
}

func (f *Flags) checkListening(proxies []netip.Prefix) error {
	for _, host := range f.Host {
		if host == "" || strings.ContainsAny(host, "/?#@*, ") {
			return usage.Errorf("--host", "%q is no host name, such as foliot.example", host)
		}
	}
	for _, proxy := range proxies {
		if proxy.Bits() == 0 {
			return usage.Errorf("--trusted-proxy", "%v is everybody: name the addresses of the proxies", proxy)
		}
	}
	switch {
	case f.TLSCert == "" && f.TLSKey != "":
		return usage.Errorf("--tls-key", "it needs --tls-cert, the certificate of this key")
	case f.TLSCert != "" && f.TLSKey == "":
		return usage.Errorf("--tls-cert", "it needs --tls-key, the key of this certificate")
	case f.TLSClientCA != "" && f.TLSCert == "":
		return usage.Errorf("--tls-client-ca", "it needs --tls-cert and --tls-key: only TLS asks clients for certificates")
	}
	return nil
}

func (f *Flags) checkDurations() error {
	for _, d := range []struct {
		flag        string
		value       time.Duration
		least, most time.Duration
	}{
		{"--idle-timeout", f.IdleTimeout, time.Second, 24 * time.Hour},
		{"--keep-finished", f.KeepFinished, time.Second, task.MaxDuration},
		{"--keep-dead", f.KeepDead, time.Second, task.MaxDuration},
		{"--audit-keep", f.AuditKeep, time.Second, task.MaxDuration},
		{"--lease", f.Lease, time.Second, time.Hour},
		{"--breaker-max", f.BreakerMax, time.Second, 24 * time.Hour},
	} {
		if d.value < d.least || d.value > d.most {
			return usage.Errorf(d.flag, "%v does not lie between %v and %v", d.value, d.least, d.most)
		}
	}
	if f.Grace < 0 {
		return usage.Errorf("--grace", "%v is negative", f.Grace)
	}
	return nil
}

func (f *Flags) checkNumbers() error {
	for _, n := range []struct {
		flag        string
		value       int
		least, most int
	}{
		{"--body-limit", f.BodyLimit, 1, task.MaxBody},
		{"--concurrency", f.Concurrency, 1, MaxConcurrency},
		{"--breaker-failures", f.BreakerFailures, 0, 1_000_000},
	} {
		if n.value < n.least || n.value > n.most {
			return usage.Errorf(n.flag, "%d does not lie between %d and %d", n.value, n.least, n.most)
		}
	}
	return nil
}

func (f *Flags) checkTracing() error {
	if !(f.TraceSample >= 0 && f.TraceSample <= 1) { // NaN is neither
		return usage.Errorf("--trace-sample", "%v does not lie between 0 and 1", f.TraceSample)
	}
	if f.OTLPEndpoint == "" {
		return nil
	}
	u, err := url.Parse(f.OTLPEndpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usage.Errorf("--otlp-endpoint", "%q is no URL of a collector, such as http://127.0.0.1:4318", redact.Text(f.OTLPEndpoint))
	}
	return nil
}

// Private reports whether nobody but this machine's users can create tasks, as
// long as there is no token: whoever may use one need not be here. They could
// call loopback themselves; others must not through us.
func (c *Config) Private() bool {
	return isLoopback(c.Addr) && len(c.Hosts) == 0 && len(c.Proxies) == 0
}

// CheckOpen refuses to listen where others reach the server while it asks for
// no token, or where the tokens would cross a network in the clear.
func (c *Config) CheckOpen(secured bool) error {
	switch {
	case c.Insecure, isLoopback(c.Addr) && (secured || len(c.Proxies) == 0):
		return nil
	case isLoopback(c.Addr) && c.InMemory():
		return usage.Errorf("--trusted-proxy", "a proxy lets others reach %s, and a store in memory begins without an access token: give a directory by --data, or pass --insecure-listen", c.Addr)
	case isLoopback(c.Addr):
		return usage.Errorf("--trusted-proxy", "a proxy lets others reach %s, and there is no access token yet: %s, or pass --insecure-listen", c.Addr, c.firstToken())
	case !secured && c.InMemory():
		return usage.Errorf("--listen", "%s is reached from other machines, and a store in memory begins without an access token: listen on 127.0.0.1, give a directory by --data, or pass --insecure-listen", c.Addr)
	case !secured:
		return usage.Errorf("--listen", "%s is reached from other machines, and there is no access token yet: %s, listen on 127.0.0.1, or pass --insecure-listen", c.Addr, c.firstToken())
	case c.TLS.Cert == "" && len(c.Proxies) == 0:
		return usage.Errorf("--listen", "tokens would reach %s unencrypted: give --tls-cert and --tls-key, name the proxy that speaks TLS in front by --trusted-proxy, or pass --insecure-listen", c.Addr)
	}
	return nil
}

// CheckUnopened is CheckOpen before the store is opened, as far as it is clear
// then: what does not exist holds no token, and is not made to find that out.
func (c *Config) CheckUnopened() error {
	if c.Redis != nil {
		return nil
	}
	if c.Dir != "" {
		if _, err := os.Stat(c.Dir); err == nil {
			return nil
		}
	}
	return c.CheckOpen(false)
}

// isLoopback reports whether a listen address is reached from this machine only.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
