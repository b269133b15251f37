package identity

import (
	"cmp"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/store/redisstore/registry"
)

//go:embed scripts/*.lua
var sources embed.FS

var decide = redisconn.NewScript(sources, redisconn.Writes, "meta")

// DefaultShards returns the default number of shards. A call to a single master
// costs less if it touches fewer shards. In a Cluster each shard has a slot, so
// more shards divide the tasks more evenly among the masters.
func DefaultShards(cluster bool) int {
	if cluster {
		return 256
	}
	return 32
}

// ErrDiffers means that this node cannot use the store: the stored format or a
// setting of the other nodes differs from its own.
var ErrDiffers = errors.New("this server is incompatible with the store")

// ErrConfig marks settings that cannot work.
var ErrConfig = errors.New("invalid shard settings")

// Requirements are the values that a node requires and all nodes must share.
type Requirements struct {
	Shards   int           // zero means the stored number
	Lease    time.Duration // Config.ShardLease of the store
	AnyLease bool          // the stored lease is accepted: no other node uses the store, or this one adopts it
}

// Meta is the content of keyspace.Keys.Meta.
type Meta struct {
	Shards   int
	format   string
	lease    time.Duration
	identity string
	whole    bool
}

// Lease returns the shard lease that all nodes use.
func (m Meta) Lease() time.Duration { return m.lease }

// parseMeta reads the fields of the hash at key, if the store has the format of
// this code.
func parseMeta(key string, fields map[string]string) (m Meta, err error) {
	m = Meta{format: fields["format"], identity: fields["identity"], whole: fields["whole"] != ""}
	if m.format != format {
		return m, fmt.Errorf("%w: %w", ErrDiffers, codec.OtherFormat("the store in Redis", m.format))
	}
	if m.identity == "" {
		return m, fmt.Errorf("the field identity of %s is missing: %w", key, codec.ErrDamaged)
	}
	number := func(name string) int {
		n, failed := strconv.Atoi(fields[name])
		if failed != nil || n < 1 {
			err = fmt.Errorf("the field %s of %s is %q: %w", name, key, fields[name], codec.ErrDamaged)
		}
		return n
	}
	m.Shards, m.lease = number("shards"), time.Duration(number("lease"))*time.Millisecond
	return m, err
}

// format is the format of keys, values, scripts and messages: see
// keyspace.Keys.Meta.
var format = strconv.Itoa(codec.Format)

// Agree compares c with the values that all nodes must share, and returns the
// stored values. If no value is stored yet, Agree stores those of c.
func Agree(ctx context.Context, s *redisconn.Servers, c Requirements) (Meta, error) {
	if err := refuseLostMeta(ctx, s, cmp.Or(c.Shards, DefaultShards(s.Cluster))); err != nil {
		return Meta{}, err
	}
	for replaces := ""; ; {
		m, err := decideMeta(ctx, s, c, replaces)
		switch {
		case err != nil:
			return Meta{}, err
		case c.Shards != 0 && c.Shards != m.Shards:
			return Meta{}, fmt.Errorf("%w: its tasks are divided into %d shards, and that number cannot change: pass --shards %d or omit the flag, or use another database, another prefix or another --store", ErrDiffers, m.Shards, m.Shards)
		case c.AnyLease || c.Lease == m.lease:
			return m, nil
		case replaces != "":
			return Meta{}, fmt.Errorf("%w: another server that is starting uses the shard lease %v, and this one %v: use the same value on all servers", ErrDiffers, m.lease, c.Lease)
		}
		others, err := registry.LiveNodes(ctx, s, m.lease)
		if err != nil {
			return Meta{}, err
		}
		if len(others) > 0 {
			return Meta{}, fmt.Errorf("%w: its shard lease is %v, and this server uses %v: pass --shard-lease %v, or first stop all other servers for at least %v (live now: %s)",
				ErrDiffers, m.lease, c.Lease, m.lease, m.lease, strings.Join(others, ", "))
		}
		replaces = millis(m.lease)
	}
}

// decideMeta returns the content of keyspace.Keys.Meta. Before that it writes the
// key if it is missing, has no identity, or has a lease that can be replaced.
func decideMeta(ctx context.Context, s *redisconn.Servers, c Requirements, replaces string) (Meta, error) {
	shards := cmp.Or(c.Shards, DefaultShards(s.Cluster))
	lease := millis(c.Lease)
	replies, err := redisconn.ReadRuns(ctx, s, rueidis.RedisResult.AsStrMap, decide, redisconn.Run{Keys: []string{s.Keys.Meta}, Args: []string{
		replaces, lease, metaField, rand.Text(), "format", format, "shards", strconv.Itoa(shards), "lease", lease,
	}})
	if err != nil {
		return Meta{}, err
	}
	return parseMeta(s.Keys.Meta, replies[0])
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
