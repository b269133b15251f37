package config

import (
	"crypto/rand"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/server/redisurl"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/usage"
)

// ShardCount is a number of shards. 0 means that the flag is not set; a user
// cannot pass 0.
type ShardCount int

// Sharing holds the flags about servers that share a Redis.
type Sharing struct {
	node       string
	shards     int // zero means that it is not set
	lease      time.Duration
	durability redisstore.Durability
	replicas   int // zero means none; a negative number means at least one, after the master had one

	unsafe bool
}

// StoreConfig translates r for the store.
func (r Sharing) StoreConfig() redisstore.Config {
	c := redisstore.Config{
		Node: r.node, Shards: r.shards, ShardLease: r.lease, Durability: r.durability, Replicas: r.replicas, Unsafe: r.unsafe,
	}
	switch { // in redisstore.Config, 0 means the default
	case r.replicas == 0:
		c.Replicas = -1
	case r.replicas < 0:
		c.Replicas = 0
	}
	return c
}

// Bounds of the flags about Redis.
const (
	MaxShards     = 4096 // each shard costs commands every second
	minShardLease = 500 * time.Millisecond
	maxShardLease = 10 * time.Minute // a minute without a heartbeat is already long
	maxReplicas   = 100
)

// nodeName matches valid names of servers. They need no quotes in keys, URLs
// and logs.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// redisStore returns the servers of --store, and the settings of servers that
// share them.
func (f *Flags) redisStore() (*redisurl.URL, Sharing, error) {
	r := Sharing{
		node: f.Node, shards: int(f.Shards), lease: f.ShardLease, durability: redisstore.Durability(f.Durability), replicas: f.RedisReplicas,
		unsafe: f.RedisUnsafe,
	}
	u, err := redisurl.Parse(f.Store)
	if err != nil {
		return nil, r, usage.Errorf("--store", "%v", err)
	}
	if u.Durability != "" {
		if r.durability != redisstore.Default && r.durability != u.Durability {
			return nil, r, usage.Errorf("--durability", "%s differs from the durability in the URL: pass one of them", r.durability)
		}
		r.durability = u.Durability
	}
	switch {
	case r.node != "" && !nodeName.MatchString(r.node):
		return nil, r, usage.Errorf("--node", "%q is not a valid name: use at most 63 letters, digits, dots, dashes and underscores, and begin with a letter or a digit", r.node)
	case r.lease < minShardLease || r.lease > maxShardLease:
		return nil, r, usage.Errorf("--shard-lease", "%v is not between %v and %v", r.lease, minShardLease, maxShardLease)
	case r.replicas < -1 || r.replicas > maxReplicas:
		return nil, r, usage.Errorf("--redis-replicas", "%d is not between -1 and %d", r.replicas, maxReplicas)
	case r.replicas > 0 && r.durability != redisstore.Strict:
		return nil, r, usage.Errorf("--redis-replicas", "a number above 0 requires --durability strict: pass that too, or use 0 or -1")
	}
	if r.node == "" {
		r.node = inventNode()
	}
	return &u, r, nil
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

// checkNoRedis refuses flags about Redis if the store is not a Redis. Otherwise
// the operator would believe that they have an effect.
func (f *Flags) checkNoRedis() error {
	for _, flag := range []struct {
		name string
		said bool
	}{
		{"--node", f.Node != ""},
		{"--shards", f.Shards != 0},
		{"--shard-lease", f.ShardLease != 6*time.Second},
		{"--durability", f.Durability != string(redisstore.Default)},
		{"--redis-replicas", f.RedisReplicas != -1},
		{"--redis-unsafe", f.RedisUnsafe},
	} {
		if flag.said {
			return usage.Errorf(flag.name, "this flag is for servers that share a Redis: pass its URL with --store, such as redis://127.0.0.1:6379")
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
	var config redisstore.Config
	if !redisurl.Is(f.Store) {
		return nil, config, usage.Errorf(flag, "the URL of a Redis is required, such as %s", redisurl.Example)
	}
	u, sharing, err := f.redisStore()
	if err != nil {
		return nil, config, OriginsOf(parsed, file).Locate(err)
	}
	config = sharing.StoreConfig()
	return u, config, u.Configure(&config)
}
