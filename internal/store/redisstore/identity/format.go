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

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/membership"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// What this code writes, see keyspace.MetaKey. It uses what has an oldest of its own format
// or below. The format rises with that of keys, scripts and messages, and with
// codec.Format. What oldest becomes with the first schedule, admitSchedules says.
const (
	Format = ScheduleFormat
	oldest = 1
)

// ScheduleFormat is the format that has schedules. Older code cannot read one, and would
// come upon it in its shards again and again. So the first schedule is made only while no
// older node lives, and after keyspace.MetaKey says that none may come: until then versions may run
// side by side, and the way back is open.
const ScheduleFormat = 2

// DefaultShards is into how many parts tasks are divided where nobody says.
const DefaultShards = 256

// ErrDiffers says that what is kept in the servers, or how other nodes use them,
// is not as this node is to have it.
var ErrDiffers = errors.New("this server does not fit to what is there")

// ErrConfig marks settings that cannot work.
var ErrConfig = errors.New("settings of the shards")

// Wishes are what a node demands of the values that all nodes share.
type Wishes struct {
	Shards int           // 0: as many as there are
	Lease  time.Duration // Config.ShardLease of the store
	Alone  bool          // no other node uses the store: any lease will do
}

// Meta is what stands in keyspace.MetaKey.
type Meta struct {
	Format, Oldest, Shards int
	lease                  time.Duration
	identity               string
	whole                  bool
}

// parseMeta reads fields and values. What a newer format has besides is not looked at.
func parseMeta(fields map[string]string) (m Meta, err error) {
	number := func(name string) int {
		n, failed := strconv.Atoi(fields[name])
		if failed != nil || n < 1 {
			err = fmt.Errorf("the field %s of %s is %q: %w", name, keyspace.MetaKey, fields[name], errDamaged)
		}
		return n
	}
	m = Meta{Format: number("format"), Oldest: number("oldest"), Shards: number("shards"), identity: fields["identity"], whole: fields["whole"] != ""}
	m.lease = time.Duration(number("lease")) * time.Millisecond
	return m, err
}

// readable returns nil if this code can use what m says.
func (m Meta) readable() error {
	if m.Oldest > Format {
		return fmt.Errorf("%w: tasks are kept in format %d by a newer Foliot, and this one knows %d: run a version that is as new", ErrDiffers, m.Format, Format)
	}
	return nil
}

// Agree compares c with the values that all nodes must share, and returns the
// stored ones. If nothing is written yet, c decides.
func Agree(ctx context.Context, s *redisconn.Servers, c Wishes) (Meta, error) {
	if err := refuseLostMeta(ctx, s, cmp.Or(c.Shards, DefaultShards)); err != nil {
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
			return Meta{}, fmt.Errorf("%w: the tasks there are divided into %d shards, for good: take --shards %d, or none; or another database, or --store", ErrDiffers, m.Shards, m.Shards)
		case c.Alone || c.Lease == m.lease:
			return m, nil
		case replaces != "":
			return Meta{}, fmt.Errorf("%w: another server, that starts too, takes the shard lease %v, and this one %v: all must take the same", ErrDiffers, m.lease, c.Lease)
		}
		others, err := membership.LiveNodes(ctx, s, m.lease)
		if err != nil {
			return Meta{}, err
		}
		if len(others) > 0 {
			return Meta{}, fmt.Errorf("%w: the shard lease there is %v, and here %v: take --shard-lease %v, or stop all other servers first, at least for %v (there are: %s)",
				ErrDiffers, m.lease, c.Lease, m.lease, m.lease, strings.Join(others, ", "))
		}
		replaces = millis(m.lease)
	}
}

// ReadMeta returns the content of keyspace.MetaKey. Errors: task.ErrStoreReplaced if that is
// nothing.
func ReadMeta(ctx context.Context, s *redisconn.Servers) (Meta, error) {
	reply, err := s.One(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Hgetall().Key(keyspace.MetaKey).Build() })
	if err != nil {
		return Meta{}, err
	}
	fields, err := reply.AsStrMap()
	switch {
	case err != nil:
		return Meta{}, err
	case fields[MetaBearer.Field] != s.Identity:
		return Meta{}, &redisconn.Loss{Kind: task.ErrStoreReplaced, Found: MetaBearer.Differs(fields[MetaBearer.Field])}
	}
	return parseMeta(fields)
}

// decideMeta returns the content of keyspace.MetaKey, after it was written if it was not
// there, had no identity, or had a lease that may be replaced.
func decideMeta(ctx context.Context, s *redisconn.Servers, c Wishes, replaces string) (Meta, error) {
	shards := cmp.Or(c.Shards, DefaultShards)
	lease := millis(c.Lease)
	replies, err := s.Repeat(ctx, decide, redisconn.Run{Keys: []string{keyspace.MetaKey}, Args: []string{
		replaces, lease, rand.Text(), "format", strconv.Itoa(Format), "oldest", strconv.Itoa(oldest), "shards", strconv.Itoa(shards), "lease", lease,
	}})
	if err != nil {
		return Meta{}, err
	}
	fields, err := replies[0].AsStrMap()
	if err != nil {
		return Meta{}, err
	}
	return parseMeta(fields)
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// ShutOut makes m, which stands in keyspace.MetaKey, say that older code may not use the servers.
func ShutOut(ctx context.Context, s *redisconn.Servers, m Meta) error {
	r := redisconn.NewRepair(keyspace.MetaKey, MetaBearer.Field, -1, s.Identity)
	r.Write("HSET", keyspace.MetaKey, "format", strconv.Itoa(max(m.Format, ScheduleFormat)), "oldest", strconv.Itoa(ScheduleFormat))
	_, err := s.Mend(ctx, r)
	return err
}
