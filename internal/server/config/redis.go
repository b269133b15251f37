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

// ShardCount is a number of shards; 0: nobody said one, which nobody can say.
type ShardCount int

// Sharing is what the flags say of how servers share a Redis.
type Sharing struct {
	node       string
	shards     int // 0: not said
	lease      time.Duration
	durability redisstore.Durability
	replicas   int   // 0: none; below 0: one, once there was one
	memory     int64 // bytes; 0: not said

	unsafeEviction, unsafePersistence bool
}

// StoreConfig returns r in the store's words.
func (r Sharing) StoreConfig() redisstore.Config {
	c := redisstore.Config{
		Node: r.node, Shards: r.shards, ShardLease: r.lease, Durability: r.durability, Replicas: r.replicas, Memory: r.memory,
		UnsafeEviction: r.unsafeEviction, UnsafePersistence: r.unsafePersistence,
	}
	switch { // there, 0 is the default
	case r.replicas == 0:
		c.Replicas = -1
	case r.replicas < 0:
		c.Replicas = 0
	}
	return c
}

// Bounds of what can be said of a Redis.
const (
	MaxShards     = 4096 // each costs commands every second
	minShardLease = 500 * time.Millisecond
	maxShardLease = 10 * time.Minute // a minute of silence is a long one already
	maxReplicas   = 100
	minMemory     = 1 << 20
)

// nodeName is how servers may be called: where names stand, in keys, URLs and
// logs, these need no quotes.
var nodeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// redisStore returns the servers that --store names, and how they are shared.
func (f *Flags) redisStore() (*redisurl.URL, Sharing, error) {
	r := Sharing{
		node: f.Node, shards: int(f.Shards), lease: f.ShardLease, durability: redisstore.Durability(f.Durability), replicas: f.RedisReplicas,
		unsafeEviction: f.RedisUnsafeEviction, unsafePersistence: f.RedisUnsafePersistence,
	}
	u, err := redisurl.Parse(f.Store)
	if err != nil {
		return nil, r, usage.Errorf("--store", "%v", err)
	}
	switch {
	case r.node != "" && !nodeName.MatchString(r.node):
		return nil, r, usage.Errorf("--node", "%q is no name of at most 63 letters, digits, dots, dashes and underscores, the first a letter or a digit", r.node)
	case r.lease < minShardLease || r.lease > maxShardLease:
		return nil, r, usage.Errorf("--shard-lease", "%v does not lie between %v and %v", r.lease, minShardLease, maxShardLease)
	case r.replicas < -1 || r.replicas > maxReplicas:
		return nil, r, usage.Errorf("--redis-replicas", "%d does not lie between -1 and %d", r.replicas, maxReplicas)
	case r.replicas > 0 && r.durability != redisstore.Strict:
		return nil, r, usage.Errorf("--redis-replicas", "so many are waited for with --durability strict only: say that too, or take 0 or -1")
	}
	if f.RedisMemory != "" {
		n, ok := parseSize(f.RedisMemory)
		if !ok || n < minMemory {
			return nil, r, usage.Errorf("--redis-memory", "%q is no size of at least 1mb, such as 512mb, 4gb or 4294967296", f.RedisMemory)
		}
		r.memory = n
	}
	if r.node == "" {
		r.node = inventNode()
	}
	return &u, r, nil
}

// inventNode returns a name that no other server has, and that says where it runs.
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

// checkNoRedis refuses what is said of a Redis where there is none: it would be
// believed to hold.
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
			return usage.Errorf(flag.name, "it is for servers that share a Redis, and --store names none, such as redis://127.0.0.1:6379")
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

// parseSize reads a number of bytes as Redis does: 1gb is 1024 times 1mb, and 1g
// is 1000 times 1m.
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

// RedisAt returns the servers that url names, or --store without it, and how a
// store in them is opened.
func (f *Flags) RedisAt(url string, parsed *kong.Context, file *Values) (*redisurl.URL, redisstore.Config, error) {
	what := "--store"
	if url != "" {
		what, f.Store = "URL", url
	}
	var config redisstore.Config
	if !redisurl.Is(f.Store) {
		return nil, config, usage.Errorf(what, "it names no Redis, such as %s", redisurl.Example)
	}
	u, sharing, err := f.redisStore()
	if err != nil {
		return nil, config, OriginsOf(parsed, file).Locate(err)
	}
	config = sharing.StoreConfig()
	config.Client, err = u.Options()
	return u, config, err
}
