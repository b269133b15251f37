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

// A store has an identity: a random word, made once with keyspace.MetaKey. It lies in every
// part of the store, next to the data of the part, and in the memory of every node.
// A Redis that was emptied, or another one in its place, does not bear it. A node
// that finds a difference closes the store: it changes nothing there, and serves no client.
//
// Scripts that write tasks, settings or ownership compare the identity in the run
// that writes (put, idem, own, beat, fence, configure), so none of these reaches
// another store at any moment. So does seal, which follows them. Others do not compare it,
// such as permits: they may leave a key there until the node closes the store.
//
// The poll compares the identity too, so a node without any work closes as well. One
// server has all parts, so the poll compares some of them. In a Cluster the poll
// compares the shards once a second (compareEvery).
//
// The identity of a store that an older version made comes with the first node of
// this version. Until every part bears it, and every replica that follows has it,
// the field "whole" of keyspace.MetaKey is missing, and a part without the identity gets it.
// From then on a part without it is lost.

// Bearer is a hash that bears the identity of the store in a field.
type Bearer struct {
	Name       string // for people
	Key, Field string
}

// Differs says that a bearer has found instead of the identity.
func (b Bearer) Differs(found string) string {
	if found == "" {
		return fmt.Sprintf("the identity of the store is missing in %s (key %s)", b.Name, b.Key)
	}
	return fmt.Sprintf("another store lies in %s (key %s bears the identity %s)", b.Name, b.Key, found)
}

var MetaBearer = Bearer{"the format", keyspace.MetaKey, "identity"}

// BearersOf returns the hashes that bear the identity of a store with these shards,
// but for keyspace.MetaKey.
func BearersOf(shards []*keyspace.Shard) []Bearer {
	all := make([]Bearer, 0, 2+len(shards))
	all = append(all, Bearer{"the settings", keyspace.SettingsID, "store"}, Bearer{"the nodes", keyspace.NodesID, "store"})
	for _, sh := range shards {
		all = append(all, Bearer{"shard " + strconv.Itoa(sh.Number), sh.Own, "store"})
	}
	return all
}

// Watch holds a node's knowledge of the identity of its store. The poll changes it.
type Watch struct {
	servers *redisconn.Servers
	shards  []*keyspace.Shard
	config  Config

	loss  atomic.Pointer[redisconn.Loss] // why the store is closed; nil: it is not
	Doubt chan struct{}                  // to the poll: compare all parts now

	// The rest is the poll's.
	whole bool      // see above: a part without the identity is lost
	tried time.Time // when it was last tried to make it so
	full  time.Time // when all parts were compared last
	since time.Time // the store is closed
}

// Config is how an identityWatch calls its store.
type Config struct {
	Logger  *slog.Logger
	Reload  func(context.Context) error // reads the settings, if other nodes have changed them; it may return a *redisconn.Loss
	Changed func()                      // is called when the store was closed, or opened again
}

// New returns a watch of the store that lies in servers. The caller calls Identify.
func New(c Config, servers *redisconn.Servers, shards []*keyspace.Shard) *Watch {
	return &Watch{servers: servers, shards: shards, config: c, Doubt: make(chan struct{}, 1)}
}

// Lost returns why the store is closed, nil if it is not. It costs one atomic load.
func (w *Watch) Lost() *redisconn.Loss { return w.loss.Load() }

// Suspect makes the poll compare all parts now, if err says that a script has found
// another store, and reports whether it does.
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
	settleEvery  = 5 * time.Second // the identity is confirmed by replicas, until it was
)

// Verify compares the identity of the store with the one that this process has
// opened, reads the settings, and closes or opens the store. It returns why it could
// not find out.
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

// compare returns a *loss where a part of the store bears another identity, or none.
// A part that is away is not compared: its error is returned if no other part is lost.
func (w *Watch) compare(ctx context.Context, all bool) error {
	shards := w.shards
	if !all && !w.servers.Cluster { // one server has all of them
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

// bearAgain writes an identity again that a failover has lost, before replicas
// had confirmed it: the store that it belongs to must be there.
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
	w.config.Logger.Warn("a failover lost the new identity of the store: wrote it again", "identity", w.servers.Identity)
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

// settle makes every part bear the identity, and says so in keyspace.MetaKey once every
// replica that follows has it. It reports whether that is so.
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

// Identify compares the identity of the store with that of its parts, when it is
// opened, and gives it to those that have none yet. Errors: task.ErrStoreReplaced,
// task.ErrSettingsLost.
func (w *Watch) Identify(ctx context.Context, m Meta) error {
	w.servers.Identity, w.whole = m.identity, m.whole
	bearers := BearersOf(w.shards)
	found, _ := borne(ctx, w.servers, bearers) // the poll compares a part that is away
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

// refuseLostMeta returns an error if keyspace.MetaKey is gone, and parts of a store bear an
// identity still: that is no empty Redis. It reads keyspace.MetaKey last, as a node that makes a store
// writes that first.
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
			return &redisconn.Loss{Kind: task.ErrStoreReplaced, Found: fmt.Sprintf("the key %s is gone, and %s bears the identity %s", keyspace.MetaKey, b.Key, *id)}
		}
	}
	return nil
}

// borne reads the identities of bearers, each once: "" for none, and nil where the server
// did not answer. The error is why not, of the first.
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
		if b.Key == keyspace.SettingsID || b.Key == keyspace.NodesID { // for a reader that has lost keyspace.MetaKey
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
