package config

import (
	"crypto/rand"
	"math"
	"os"
	"regexp"
	"strconv"
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
	replicas   int   // zero means none; a negative number means at least one, after the master had one
	memory     int64 // bytes; zero means that it is not set

	unsafeEviction, unsafePersistence bool
}

// StoreConfig translates r for the store.
func (r Sharing) StoreConfig() redisstore.Config {
	c := redisstore.Config{
		Node: r.node, Shards: r.shards, ShardLease: r.lease, Durability: r.durability, Replicas: r.replicas, Memory: r.memory,
		UnsafeEviction: r.unsafeEviction, UnsafePersistence: r.unsafePersistence,
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
	minMemory     = 1 << 20
)

// nodeName matches valid names of servers. They need no quotes in keys, URLs
// and logs.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// redisStore returns the servers of --store, and the settings of servers that
// share them.
func (f *Flags) redisStore() (*redisurl.URL, Sharing, error) {
	r := Sharing{
		node: f.Node, shards: int(f.Shards), lease: f.ShardLease, durability: redisstore.Durability(f.Durability), replicas: f.RedisReplicas,
		unsafeEviction: f.RedisUnsafeEviction, unsafePersistence: f.RedisUnsafePersistence,
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
	if f.RedisMemory != "" {
		n, ok := parseSize(f.RedisMemory)
		if !ok || n < minMemory {
			return nil, r, usage.Errorf("--redis-memory", "%q is not a size of at least 1mb, such as 512mb, 4gb or 4294967296", f.RedisMemory)
		}
		r.memory = n
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
		{"--redis-memory", f.RedisMemory != ""},
		{"--redis-unsafe-eviction", f.RedisUnsafeEviction},
		{"--redis-unsafe-persistence", f.RedisUnsafePersistence},
	} {
		if flag.said {
			return usage.Errorf(flag.name, "this flag is for servers that share a Redis: pass its URL with --store, such as redis://127.0.0.1:6379")
		}
	}
	return nil
}

// sizes are the units of Redis's own configuration.
var sizes = []struct {
	unit  string
	bytes int64
}{
	{"kb", 1 << 10},
	{"mb", 1 << 20},
	{"gb", 1 << 30},
	{"tb", 1 << 40},
	{"k", 1e3},
	{"m", 1e6},
	{"g", 1e9},
	{"t", 1e12},
	{"b", 1},
	{"", 1},
}

// parseSize parses a number of bytes as Redis does: 1gb is 1024 times 1mb, and
// 1g is 1000 times 1m.
func parseSize(text string) (n int64, ok bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	for _, s := range sizes {
		if s.unit != text[len(digits):] {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/s.bytes {
			return 0, false
		}
		return n * s.bytes, true
	}
	return 0, false
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
