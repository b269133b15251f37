package config

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/redact"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/server/redisurl"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/telemetry/tracing"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/webhook"
)

// Config is the checked meaning of serve's flags: the settings of the listener
// and the store, and the Config of each part of a server, as far as flags set
// it. Checks that must open a file or a store come later.
type Config struct {
	Addr           string
	TLS            httpserver.TLSFiles
	Proxies        []netip.Prefix // trusted to name the client of a request
	BootstrapToken string         // the file with the first token, or ""
	Insecure       bool           // the operator accepts to listen without tokens or TLS

	Dir      string            // empty means that the tasks are not in a directory
	Redis    *redisurl.URL     // nil means that the tasks are not in a Redis
	Shared   redisstore.Config // of the store in Redis, without the parts of its URL
	Postgres pgstore.Config    // without a URL, the tasks are not in PostgreSQL; if they are nowhere, they are in memory
	Store    engine.StoreConfig

	API      api.Config
	Dispatch dispatch.Config
	Sender   webhook.Config
	Tracing  tracing.Config // no Endpoint means no tracing
}

// MaxConcurrency is more attempts than a process has descriptors for. It bounds
// the flag because memory is reserved for the number that the flag sets.
const MaxConcurrency = 1_000_000

// Resolve checks the flags. An error is a usage.Error, which names the flag.
func (f *Flags) Resolve() (cfg Config, err error) {
	cfg = Config{
		TLS:            httpserver.TLSFiles{Cert: f.TLSCert, Key: f.TLSKey, ClientCA: f.TLSClientCA},
		BootstrapToken: f.BootstrapTokenFile, Insecure: f.InsecureListen,
		Store:    engine.StoreConfig{Keep: task.Policy{KeepFinished: f.KeepFinished, KeepDead: f.KeepDead}, AuditKeep: f.AuditKeep},
		API:      api.Config{BodyLimit: f.BodyLimit, AllowedHosts: f.Host, LogChanges: f.LogChanges},
		Dispatch: dispatch.Config{Slots: f.Concurrency, Grace: f.Grace},
	}
	if cfg.Addr, err = httpserver.ListenAddr("--listen", f.Listen); err != nil {
		return cfg, err
	}
	switch SharedStore(f.Store) {
	case redisName:
		cfg.Redis, cfg.Shared, err = f.redisStore()
	case postgresName:
		cfg.Postgres, err = f.postgresStore()
	default:
		if cfg.Dir, err = f.directory(); err == nil {
			err = f.checkNotShared()
		}
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
		{"--egress-allow", f.EgressAllow, &cfg.Sender.Allow},
		{"--egress-deny", f.EgressDeny, &cfg.Sender.Deny},
	} {
		if *list.into, err = webhook.ParsePrefixes(list.texts); err != nil {
			return cfg, usage.Errorf(list.flag, "%v", err)
		}
	}
	if f.ReceiverCA != "" {
		if cfg.Sender.Authorities, err = fileaccess.Authorities(f.ReceiverCA); err != nil {
			return cfg, usage.Errorf("--receiver-ca", "%v", err)
		}
	}
	if err := cmp.Or(f.checkListening(cfg.Proxies), f.checkBounds()); err != nil {
		return cfg, err
	}
	if f.Grace == 0 {
		cfg.Dispatch.Grace = -1 // zero means the default there
	}
	// Servers that share a Redis assume that no claim holds longer than ClaimFor.
	cfg.Dispatch.LeaseFor = min(f.ShardLease*5/2, store.ClaimFor)
	cfg.Tracing, err = tracing.FromEnvironment()
	return cfg, err
}

// directory returns the directory of the tasks, or "" for memory.
func (f *Flags) directory() (string, error) {
	dir := f.Data
	switch scheme, _, isURL := strings.Cut(f.Store, ":"); {
	case f.Store == "memory:":
		return "", nil
	case isURL && len(scheme) > 1: // one letter is a Windows drive
		return "", usage.Errorf("--store", "%q is not a store: pass memory:, a directory or the URL of a Redis or PostgreSQL, such as %s", redact.Text(f.Store), redisurl.Example)
	case f.Store != "":
		dir = f.Store
	case dir == "":
		return "", usage.Errorf("--data", "a directory is required, unless you pass --store memory:")
	}
	return LocalDir("--data", dir)
}

// LocalDir returns the full path of a directory. It refuses the URL of a server,
// which would otherwise become a directory of a strange name.
func LocalDir(flag, dir string) (string, error) {
	if kind := SharedStore(dir); kind != "" {
		command := map[string]string{redisName: "foliot doctor redis", postgresName: "foliot postgres migrate"}[kind]
		return "", usage.Errorf(flag, "a directory is required, but this is the URL of %s: only foliot serve --store and %s accept one", kind, command)
	}
	return filepath.Abs(dir)
}

// Servers returns the address of the servers that hold the tasks, without
// credentials, or "" if the tasks are in this process or in a directory.
func (c *Config) Servers() string {
	switch {
	case c.Redis != nil:
		return c.Redis.String()
	case c.Postgres.URL != "":
		return pgstore.Location(c.Postgres.URL)
	}
	return ""
}

// InMemory reports whether the tasks are lost when the process ends.
func (c *Config) InMemory() bool { return c.Dir == "" && c.Servers() == "" }

// firstToken is the instruction to create the first token.
const firstToken = "make one with `(umask 077; foliot token generate > operator.token)` and pass it with --bootstrap-token-file operator.token"

func (f *Flags) checkListening(proxies []netip.Prefix) error {
	for _, host := range f.Host {
		if host == "" || strings.ContainsAny(host, "/?#@*, ") {
			return usage.Errorf("--host", "%q is not a host name, such as foliot.example", host)
		}
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil && strings.Contains(host, ":") {
			return usage.Errorf("--host", "%q must be a name without a port: it is valid for all ports", host)
		}
	}
	for _, proxy := range proxies {
		if proxy.Bits() == 0 {
			return usage.Errorf("--trusted-proxy", "%v includes every address: pass the addresses of the proxies only", proxy)
		}
	}
	switch {
	case f.TLSCert == "" && f.TLSKey != "":
		return usage.Errorf("--tls-key", "--tls-cert is missing: pass the certificate for this key")
	case f.TLSCert != "" && f.TLSKey == "":
		return usage.Errorf("--tls-cert", "--tls-key is missing: pass the key for this certificate")
	case f.TLSClientCA != "" && f.TLSCert == "":
		return usage.Errorf("--tls-client-ca", "--tls-cert and --tls-key are missing: clients send certificates only over TLS")
	}
	return nil
}

func (f *Flags) checkBounds() error {
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"--keep-finished", f.KeepFinished}, {"--keep-dead", f.KeepDead}, {"--audit-keep", f.AuditKeep}} {
		if d.value < time.Second || d.value > task.MaxDuration {
			return usage.Errorf(d.flag, "%s is not between 1s and %s", timespan.Text(d.value), timespan.Text(task.MaxDuration))
		}
	}
	if f.Grace < 0 {
		return usage.Errorf("--grace", "%v is negative", f.Grace)
	}
	for _, n := range []struct {
		flag        string
		value, most int
	}{{"--body-limit", f.BodyLimit, task.MaxBody}, {"--concurrency", f.Concurrency, MaxConcurrency}} {
		if n.value < 1 || n.value > n.most {
			return usage.Errorf(n.flag, "%d is not between 1 and %d", n.value, n.most)
		}
	}
	return nil
}

// Collector returns host:port of the trace collector, or nil if there is none.
func (c *Config) Collector() []string {
	u, err := url.Parse(c.Tracing.Endpoint)
	if c.Tracing.Endpoint == "" || err != nil {
		return nil
	}
	return []string{task.Address(u)}
}

// Private reports whether, as long as there is no token, only users of this
// machine can create tasks. Such users could call loopback themselves, but a
// client on another machine must not call it through this server, and a token
// may be used from anywhere.
func (c *Config) Private() bool {
	return isLoopback(c.Addr) && len(c.API.AllowedHosts) == 0 && len(c.Proxies) == 0
}

// CheckOpen refuses to listen if other machines could reach the server and it
// requires no token, or if clients would send tokens over a network
// unencrypted. secured reports whether a token exists.
func (c *Config) CheckOpen(secured bool) error {
	switch {
	case c.Insecure, isLoopback(c.Addr) && (secured || len(c.Proxies) == 0):
		return nil
	case isLoopback(c.Addr):
		return usage.Errorf("--trusted-proxy", "other machines can reach %s through the proxy, and no access token exists yet: %s, or pass --insecure-listen", c.Addr, firstToken)
	case !secured:
		return usage.Errorf("--listen", "other machines can reach %s, and no access token exists yet: %s, listen on 127.0.0.1, or pass --insecure-listen", c.Addr, firstToken)
	case c.TLS.Cert == "" && len(c.Proxies) == 0:
		return usage.Errorf("--listen", "clients would send tokens to %s unencrypted: pass --tls-cert and --tls-key, name the proxy that handles TLS with --trusted-proxy, or pass --insecure-listen", c.Addr)
	}
	return nil
}

// CheckUnopened runs CheckOpen before the store is opened, if the result is
// certain already: a directory that does not exist holds no token, and this
// check must not create it. first reports whether the server will make a first
// token.
func (c *Config) CheckUnopened(first bool) error {
	if c.Servers() != "" {
		return nil
	}
	if c.Dir != "" {
		if _, err := os.Stat(c.Dir); err == nil {
			return nil
		}
	}
	return c.CheckOpen(first)
}

// isLoopback reports whether only this machine can reach a listen address.
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
