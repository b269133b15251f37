package identity

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/membership"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// The format that this code writes; see keyspace.Keys.Meta. The code uses a store
// whose field oldest is not above its own format. The format rises with each
// change of keys, scripts and messages, and with codec.Format. A new store begins
// with oldest = CompactFormat, and the field rises when older code must be
// excluded.
const Format = KindFormat

// ScheduleFormat is the format that has schedules. Older code cannot read a
// schedule, and would find it in its shards again and again. So two conditions
// must hold before the first schedule is created: no older node is live, and
// keyspace.Keys.Meta excludes older nodes. Until then both versions can run side
// by side, and an operator can go back to the older version.
const ScheduleFormat = 2

// CompactFormat is the format whose tasks and audit entries can have the compact
// form (codec.Compact), which older code refuses. All versions read the
// usual form. A new store excludes older nodes from the start, and all its records are
// compact. A store of an older version keeps the usual form: a node of that
// version that was silent for a while could still join, and would not deliver
// compact tasks.
const CompactFormat = 3

// KindFormat is the format whose tasks can have kinds. Older code cannot read
// such a task. So, as with schedules, older nodes are excluded before the first
// such task is created, and not earlier.
const KindFormat = 4

// DefaultShards returns the default number of shards. A call to a single master
// costs less if it touches the keys of fewer shards, and more servers than 32
// would not be faster with it. In a Cluster each shard has a slot, so more
// shards divide the tasks more evenly among the masters.
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
	Format, Oldest, Shards int
	Compact                bool // the store began with compact records: see CompactFormat
	lease                  time.Duration
	identity               string
	whole                  bool
}

// Lease returns the shard lease that all nodes use.
func (m Meta) Lease() time.Duration { return m.lease }

// parseMeta reads the fields of the hash at key. It ignores fields of newer
// formats.
func parseMeta(key string, fields map[string]string) (m Meta, err error) {
	number := func(name string) int {
		n, failed := strconv.Atoi(fields[name])
		if failed != nil || n < 1 {
			err = fmt.Errorf("the field %s of %s is %q: %w", name, key, fields[name], errDamaged)
		}
		return n
	}
	m = Meta{Format: number("format"), Oldest: number("oldest"), Shards: number("shards"), identity: fields["identity"], whole: fields["whole"] != ""}
	m.lease = time.Duration(number("lease")) * time.Millisecond
	m.Compact = m.Oldest == CompactFormat || fields["compact"] != ""
	return m, err
}

// readable returns an error if this code cannot use a store with the content m.
func (m Meta) readable() error {
	if m.Oldest > Format {
		return fmt.Errorf("%w: a newer Foliot stored the tasks in format %d, and this version supports formats up to %d: run a version as new as that one", ErrDiffers, m.Format, Format)
	}
	return nil
}

// Agree compares c with the values that all nodes must share, and returns the
// stored values. If no value is stored yet, Agree stores those of c.
func Agree(ctx context.Context, s *redisconn.Servers, c Requirements) (Meta, error) {
	if err := refuseLostMeta(ctx, s, cmp.Or(c.Shards, DefaultShards(s.Cluster))); err != nil {
		return Meta{}, err
	}
	for replaces := ""; ; {
		m, err := decideMeta(ctx, s, c, replaces)
		if err == nil {
			err = m.readable()
		}
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
		others, err := membership.LiveNodes(ctx, s, m.lease)
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

// ReadMeta returns the content of keyspace.Keys.Meta. The error is
// task.ErrStoreReplaced if the key is missing.
func ReadMeta(ctx context.Context, s *redisconn.Servers) (Meta, error) {
	reply, err := s.One(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Hgetall().Key(s.Keys.Meta).Build() })
	if err != nil {
		return Meta{}, err
	}
	fields, err := reply.AsStrMap()
	switch {
	case err != nil:
		return Meta{}, err
	case fields[metaField] != s.Identity:
		return Meta{}, &redisconn.Loss{Kind: task.ErrStoreReplaced, Found: MetaHash(s.Keys).Differs(fields[metaField])}
	}
	return parseMeta(s.Keys.Meta, fields)
}

// decideMeta returns the content of keyspace.Keys.Meta. Before that it writes the
// key if it is missing, has no identity, or has a lease that can be replaced.
func decideMeta(ctx context.Context, s *redisconn.Servers, c Requirements, replaces string) (Meta, error) {
	shards := cmp.Or(c.Shards, DefaultShards(s.Cluster))
	lease := millis(c.Lease)
	replies, err := s.Repeat(ctx, decide, redisconn.Run{Keys: []string{s.Keys.Meta}, Args: []string{
		replaces, lease, rand.Text(), "format", strconv.Itoa(Format), "oldest", strconv.Itoa(CompactFormat), "shards", strconv.Itoa(shards), "lease", lease,
	}})
	if err != nil {
		return Meta{}, err
	}
	fields, err := replies[0].AsStrMap()
	if err != nil {
		return Meta{}, err
	}
	return parseMeta(s.Keys.Meta, fields)
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// ShutOut changes m in keyspace.Keys.Meta so that code older than the format
// refuses to use the servers.
func ShutOut(ctx context.Context, s *redisconn.Servers, m Meta, format int) error {
	r := redisconn.NewRepair(s.Keys.Meta, metaField, -1, s.Identity)
	r.Write("HSET", s.Keys.Meta, "format", strconv.Itoa(max(m.Format, format)), "oldest", strconv.Itoa(max(m.Oldest, format)))
	if m.Compact {
		r.Write("HSET", s.Keys.Meta, "compact", "1")
	}
	_, err := s.Mend(ctx, r)
	return err
}
