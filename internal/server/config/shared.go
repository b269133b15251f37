package config

import (
	"crypto/rand"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/server/redisurl"
	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/usage"
)

// ShardCount is a number of shards, or 0, which a user cannot pass, if the flag
// is not set.
type ShardCount int

// Bounds of the flags about Redis.
const (
	MaxShards     = 4096 // each shard costs commands every second
	minShardLease = 500 * time.Millisecond
	maxShardLease = 10 * time.Minute // a minute without a heartbeat is already long
)

// The kinds of stores that servers share, as messages name them.
const (
	redisName    = "a Redis"
	postgresName = "PostgreSQL"
)

// SharedStore returns the kind of store that a value of --store means as a URL,
// perhaps an invalid one, or "" if servers cannot share it.
func SharedStore(text string) string {
	switch scheme, _, is := strings.Cut(strings.ToLower(text), ":"); {
	case redisurl.Is(text):
		return redisName
	case is && (scheme == "postgres" || scheme == "postgresql"):
		return postgresName
	}
	return ""
}

// nodeName matches valid names of servers, which need no quotes in keys, URLs
// and logs.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// redisStore returns the servers of --store, and the settings of the store that
// is in them.
func (f *Flags) redisStore() (*redisurl.URL, redisstore.Config, error) {
	c := redisstore.Config{
		Shards: int(f.Shards), ShardLease: f.ShardLease, Durability: redisstore.Durability(f.Durability), Unsafe: f.RedisUnsafe,
	}
	c.Node = f.Node
	u, err := redisurl.Parse(f.Store)
	if err != nil {
		return nil, c, usage.Errorf("--store", "%v", err)
	}
	if u.Durability != "" {
		if c.Durability != redisstore.Default && c.Durability != u.Durability {
			return nil, c, usage.Errorf("--durability", "%s differs from the durability in the URL: pass one of them", c.Durability)
		}
		c.Durability = u.Durability
	}
	if c.ShardLease < minShardLease || c.ShardLease > maxShardLease {
		return nil, c, usage.Errorf("--shard-lease", "%v is not between %v and %v", c.ShardLease, minShardLease, maxShardLease)
	}
	c.Node, err = f.node()
	return &u, c, err
}

// node returns the name of this server.
func (f *Flags) node() (string, error) {
	switch {
	case f.Node == "":
		return inventNode(), nil
	case !nodeName.MatchString(f.Node):
		return "", usage.Errorf("--node", "%q is not a valid name: use at most 63 letters, digits, dots, dashes and underscores, and begin with a letter or a digit", f.Node)
	}
	return f.Node, nil
}

// inventNode returns a name that begins with the host's name and that no other
// server has.
func inventNode() string {
	host, _ := os.Hostname()
	host = strings.Map(func(r rune) rune {
		if r < 0x80 && nodeName.MatchString("x"+string(r)) {
			return r
		}
		return -1
	}, host)
	host = strings.TrimLeft(host[:min(len(host), 50)], "._-")
	if host == "" {
		host = "node"
	}
	return host + "-" + strings.ToLower(rand.Text()[:8])
}

// postgresStore returns the settings of the store in the PostgreSQL of --store.
func (f *Flags) postgresStore() (c pgstore.Config, err error) {
	const fixed = "foliot postgres migrate has fixed it for all servers of this PostgreSQL: do not pass this flag"
	c = pgstore.Config{URL: f.Store, Durability: pgstore.Durability(f.Durability)}
	c.Node, err = f.node()
	_, invalid := pgstore.Parse(f.Store)
	inURL := pgstore.LevelOf(f.Store)
	switch {
	case inURL != "" && f.Durability != "default" && f.Durability != string(inURL):
		err = usage.Errorf("--durability", "%s differs from the durability in the URL: pass one of them", f.Durability)
	case !strings.HasPrefix(f.Store, "postgres://") && !strings.HasPrefix(f.Store, "postgresql://"): // not a URL for the driver
		err = usage.Errorf("--store", "the URL of a PostgreSQL begins with postgres:// or postgresql://, such as %s", pgstore.Example)
	case invalid != nil:
		err = usage.Errorf("--store", "%v", invalid)
	case f.Shards != 0:
		err = usage.Errorf("--shards", fixed)
	case f.ShardLease != 6*time.Second:
		err = usage.Errorf("--shard-lease", fixed)
	case f.RedisUnsafe:
		err = usage.Errorf("--redis-unsafe", "this flag is for a Redis, and --store is PostgreSQL: do not pass it")
	}
	return c, err
}

// checkNotShared refuses flags about shared stores if the store is none, because
// the operator would otherwise believe that they have an effect.
func (f *Flags) checkNotShared() error {
	for _, flag := range []struct {
		name string
		said bool
	}{
		{"--node", f.Node != ""},
		{"--shards", f.Shards != 0},
		{"--shard-lease", f.ShardLease != 6*time.Second},
		{"--durability", f.Durability != string(redisstore.Default)},
		{"--redis-unsafe", f.RedisUnsafe},
	} {
		if flag.said {
			return usage.Errorf(flag.name, "this flag is for servers that share a Redis or PostgreSQL: pass its URL with --store, such as redis://127.0.0.1:6379")
		}
	}
	return nil
}

// RedisAt returns the servers of url, or of --store if url is "", and the
// options of a store in them.
func (f *Flags) RedisAt(url string, parsed *kong.Context, file *Values) (*redisurl.URL, redisstore.Config, error) {
	flag := "--store"
	if url != "" {
		flag, f.Store = "URL", url
	}
	if !redisurl.Is(f.Store) {
		return nil, redisstore.Config{}, usage.Errorf(flag, "the URL of a Redis is required, such as %s", redisurl.Example)
	}
	u, c, err := f.redisStore()
	if err != nil {
		return nil, c, Origins{parsed, file}.Locate(err)
	}
	err = u.Configure(&c)
	return u, c, err
}

// PostgresAt returns the settings of the store in the PostgreSQL of url, or of --store if
// url is "".
func (f *Flags) PostgresAt(url string, parsed *kong.Context, file *Values) (pgstore.Config, error) {
	if url != "" {
		f.Store = url
	}
	cfg, _, err := f.ResolveFrom(parsed, file)
	if err == nil && cfg.Postgres.URL == "" {
		err = usage.Errorf("--store", "the URL of a PostgreSQL is required, such as %s", pgstore.Example)
	}
	if err != nil {
		return pgstore.Config{}, err
	}
	return cfg.Postgres, nil
}
