package identity

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// A store has an identity: a random word, created once with keyspace.MetaKey.
// It is stored in every part of the store, next to the data of the part, and in
// the memory of every node. A Redis that was emptied does not have it, and
// neither does another Redis in its place. A node that finds a difference
// closes the store: it changes nothing there, and serves no client.
//
// Scripts that write tasks, settings or ownership compare the identity in the
// run that writes (put, idem, own, beat, fence, configure). So they never write
// to another store. seal, which follows them, compares it too. Other scripts,
// such as permits, do not compare it: they may leave a key in another store
// until the node closes the store.
//
// The poll compares the identity too, so a node without any work also closes.
// Without a Cluster, one server has all parts, and the poll compares only some
// of them. In a Cluster the poll compares all shards once a second
// (compareEvery).
//
// A store of an older version gets its identity from the first node of this
// version. Until every part has it, and every replica that follows has it, the
// field "whole" of keyspace.MetaKey is missing, and a part without the identity
// is given it. From then on a part without it is lost.

// Bearer is a hash with the identity of the store in one of its fields.
type Bearer struct {
	Name       string // for messages
	Key, Field string
}

// Differs returns the message for a bearer that holds the value found instead
// of the identity.
func (b Bearer) Differs(found string) string {
	if found == "" {
		return fmt.Sprintf("the identity of the store is missing in %s (key %s)", b.Name, b.Key)
	}
	return fmt.Sprintf("another store is in %s (key %s has the identity %s)", b.Name, b.Key, found)
}

var MetaBearer = Bearer{"the format", keyspace.MetaKey, "identity"}

// BearersOf returns the hashes with the identity of a store with these shards,
// without keyspace.MetaKey.
func BearersOf(shards []*keyspace.Shard) []Bearer {
	all := make([]Bearer, 0, 2+len(shards))
	all = append(all, Bearer{"the settings", keyspace.SettingsID, "store"}, Bearer{"the nodes", keyspace.NodesID, "store"})
	for _, sh := range shards {
		all = append(all, Bearer{"shard " + strconv.Itoa(sh.Number), sh.Own, "store"})
	}
	return all
}

// Watch holds a node's knowledge of the identity of its store. The poll updates
// it.
type Watch struct {
	servers *redisconn.Servers
	shards  []*keyspace.Shard
	config  Config

	loss  atomic.Pointer[redisconn.Loss] // why the store is closed; nil: it is open
	Doubt chan struct{}                  // makes the poll compare all parts now

	// Only the poll uses the fields below.
	whole bool      // see above: a part without the identity counts as lost
	tried time.Time // when settle was last tried
	full  time.Time // when all parts were last compared
	since time.Time // when the store was closed
}

// Config connects a Watch to its store.
type Config struct {
	Logger  *slog.Logger
	Reload  func(context.Context) error // reads the settings if other nodes have changed them; it may return a *redisconn.Loss
	Changed func()                      // is called after the store was closed or opened again
}

// New returns a watch of the store in servers. The caller must call Identify
// next.
func New(c Config, servers *redisconn.Servers, shards []*keyspace.Shard) *Watch {
	return &Watch{servers: servers, shards: shards, config: c, Doubt: make(chan struct{}, 1)}
}

// Lost returns why the store is closed, nil if it is open. It costs one atomic
// load.
func (w *Watch) Lost() *redisconn.Loss { return w.loss.Load() }

// Suspect makes the poll compare all parts now if err means that a script has
// found another store. It reports whether err means that.
func (w *Watch) Suspect(err error) bool {
	if err == nil || redisconn.LossOf(err) == nil {
		return false
	}
	select {
	case w.Doubt <- struct{}{}:
	default:
	}
	return true
}

const (
	compareEvery = time.Second     // all parts, in a Cluster
	settleEvery  = 5 * time.Second // the time between two tries to have the identity confirmed by replicas
)

// Verify compares the identity of the store with the one that this process
// opened, reads the settings, and closes or opens the store. It returns an
// error if a comparison failed.
func (w *Watch) Verify(ctx context.Context, now time.Time, doubt bool) error {
	all := doubt || w.loss.Load() != nil || w.servers.Cluster && now.Sub(w.full) >= compareEvery
	err := w.compare(ctx, all)
	if err == nil {
		err = w.config.Reload(ctx)
	}
	if all && err == nil {
		w.full = now
	}
	switch l := redisconn.LossOf(err); {
	case l != nil:
		w.shut(l, now)
		return nil
	case err != nil:
		return err
	case all:
		w.reopen(now)
	}
	if !w.whole && now.Sub(w.tried) >= settleEvery && w.loss.Load() == nil {
		w.tried = now
		w.whole = w.settle(ctx)
	}
	return nil
}

// compare returns a *redisconn.Loss if a part of the store has another identity
// or none. It cannot compare parts on a server that is away: it returns that
// error if no other part is lost.
func (w *Watch) compare(ctx context.Context, all bool) error {
	shards := w.shards
	if !all && !w.servers.Cluster { // one server has all parts
		shards = shards[:1]
	} else if !all {
		shards = nil
	}
	bearers := append([]Bearer{MetaBearer}, BearersOf(shards)...)
	found, away := borne(ctx, w.servers, bearers)
	var missing []int
	for i, b := range bearers {
		switch id := found[i]; {
		case id == nil || *id == w.servers.Identity:
		case *id == "" && !w.whole:
			missing = append(missing, i)
		default:
			return &redisconn.Loss{Kind: task.ErrStoreReplaced, Found: b.Differs(*id)}
		}
	}
	if len(missing) == 0 {
		return away
	}
	return w.bearAgain(ctx, bearers[missing[0]])
}

// bearAgain writes an identity again that a failover lost before replicas had
// confirmed it. The store with that identity must be there.
func (w *Watch) bearAgain(ctx context.Context, first Bearer) error {
	n := strconv.Itoa(len(w.shards))
	again := redisconn.NewRepair(keyspace.MetaKey, "shards", -1, n)
	again.Write("HSETNX", keyspace.MetaKey, MetaBearer.Field, w.servers.Identity)
	results, err := w.servers.Mend(ctx, again)
	if err != nil {
		return err
	}
	if there, err := results[0].AsInt64(); err != nil {
		return err
	} else if there < 0 {
		return &redisconn.Loss{Kind: task.ErrStoreReplaced, Found: first.Differs("")}
	}
	if err := bear(ctx, w.servers, w.shards); err != nil {
		return err
	}
	w.config.Logger.Warn("wrote the new identity of the store again: a failover had lost it", "identity", w.servers.Identity)
	return nil
}

// shut closes the store.
func (w *Watch) shut(l *redisconn.Loss, now time.Time) {
	before := w.loss.Swap(l)
	if before == nil {
		w.since = now
	}
	if before == nil || before.Kind != l.Kind {
		w.config.Logger.Error("the store is closed: requests are refused, and no task is sent", "found", l.Found, "identity", w.servers.Identity, "reason", l.Kind)
		w.config.Changed()
	}
}

// reopen opens the store, if it was closed.
func (w *Watch) reopen(now time.Time) {
	if w.loss.Swap(nil) == nil {
		return
	}
	w.config.Logger.Info("the store is open again: its data is back", "identity", w.servers.Identity, "after", now.Sub(w.since).Round(time.Millisecond).String())
	w.config.Changed()
}

// settle gives the identity to every part. When every replica that follows has
// it, settle records that in keyspace.MetaKey. It reports whether that is done.
func (w *Watch) settle(ctx context.Context) bool {
	err := bear(ctx, w.servers, w.shards)
	if err == nil && w.servers.Synced(ctx) {
		r := redisconn.NewRepair(keyspace.MetaKey, MetaBearer.Field, -1, w.servers.Identity)
		r.Write("HSETNX", keyspace.MetaKey, "whole", "1")
		results, failed := w.servers.Mend(ctx, r)
		if err = failed; err == nil {
			_, err = results[0].AsInt64()
		}
		return err == nil
	}
	return false
}

// Identify compares the identity of the store with that of its parts when the
// store is opened, and gives it to parts that have none yet. Errors:
// task.ErrStoreReplaced, task.ErrSettingsLost.
func (w *Watch) Identify(ctx context.Context, m Meta) error {
	w.servers.Identity, w.whole = m.identity, m.whole
	bearers := BearersOf(w.shards)
	found, _ := borne(ctx, w.servers, bearers) // the poll compares parts on servers that are away
	for i, b := range bearers {
		if id := found[i]; id != nil && *id != m.identity && (*id != "" || m.whole) {
			return &redisconn.Loss{Kind: task.ErrStoreReplaced, Found: b.Differs(*id)}
		}
	}
	if !m.whole {
		w.tried = time.Now()
		w.whole = w.settle(ctx)
	}
	return nil
}

// refuseLostMeta returns an error if keyspace.MetaKey is gone while parts still
// have the identity of a store: such a Redis is not empty. It reads
// keyspace.MetaKey last, because a node that creates a store writes that first.
func refuseLostMeta(ctx context.Context, s *redisconn.Servers, shards int) error {
	bearers := BearersOf(keyspace.NewShards(shards))
	found, _ := borne(ctx, s, bearers)
	meta, err := s.One(ctx, func(b rueidis.Builder) rueidis.Completed { return b.Exists().Key(keyspace.MetaKey).Build() })
	if err != nil {
		return err
	}
	if there, err := meta.AsBool(); err != nil || there {
		return err
	}
	for i, b := range bearers {
		if id := found[i]; id != nil && *id != "" {
			return &redisconn.Loss{Kind: task.ErrStoreReplaced, Found: fmt.Sprintf("the key %s is gone, although %s has the identity %s", keyspace.MetaKey, b.Key, *id)}
		}
	}
	return nil
}

// borne reads the identity of each bearer: "" if there is none, nil if the
// server did not answer. The error is that of the first server that did not
// answer.
func borne(ctx context.Context, s *redisconn.Servers, bearers []Bearer) (found []*string, away error) {
	commands := make(rueidis.Commands, len(bearers))
	for i, b := range bearers {
		commands[i] = s.Client.B().Hget().Key(b.Key).Field(b.Field).Build()
	}
	ctx, stop := s.Once(ctx, redisconn.TryTime)
	defer stop()
	found = make([]*string, len(bearers))
	for i, r := range s.Client.DoMulti(ctx, commands...) {
		id, err := r.ToString()
		switch {
		case err == nil, rueidis.IsRedisNil(err):
			found[i] = &id
		case away == nil:
			away = err
		}
	}
	return found, away
}

// bear gives the identity to parts that have none.
func bear(ctx context.Context, s *redisconn.Servers, shards []*keyspace.Shard) error {
	made, err := s.One(ctx, func(b rueidis.Builder) rueidis.Completed {
		return b.Hexists().Key(keyspace.SettingsKey).Field(keyspace.VersionField).Build()
	})
	if err != nil {
		return err
	}
	has, err := made.AsBool()
	if err != nil {
		return err
	}
	bearers := BearersOf(shards)
	repairs := make([]*redisconn.Repair, len(bearers))
	for i, b := range bearers {
		r := redisconn.NewRepair(b.Key, b.Field, -1, "")
		r.Write("HSET", b.Key, b.Field, s.Identity)
		if b.Key == keyspace.SettingsID || b.Key == keyspace.NodesID { // for a reader if keyspace.MetaKey is lost
			r.Write("HSET", b.Key, "shards", strconv.Itoa(len(shards)))
		}
		if b.Key == keyspace.SettingsID && has {
			r.Write("HSET", b.Key, "made", "1")
		}
		repairs[i] = r
	}
	_, err = s.Mend(ctx, repairs...)
	return err
}
