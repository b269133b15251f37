package identity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// A store has an identity: a random word, created with keyspace.Keys.Meta. It is
// next to the data in every part of the store, and in the memory of every node. A
// Redis that was emptied or replaced does not have it. A node that finds another
// identity, or none, closes the store: it writes nothing there, and refuses all
// requests.
//
// Scripts that write tasks, settings or ownership compare the identity in the run
// that writes. Others, such as permits, can leave a key in another store until the
// node closes the store. The poll compares the identity too, so a node without work
// closes its store. In a Cluster it compares the node's own shards, and one of each
// master, once a second; one server without a Cluster has all parts.
//
// The field "whole" of keyspace.Keys.Meta is set when every part and every replica
// that follows have the identity. Before that, a part without it gets it. After
// that, such a part counts as lost.

// Hash is a hash of Redis with the identity of the store in one of its fields.
type Hash struct {
	Name       string // for messages
	Key, Field string
}

// Differs returns the message for a hash that has the value found instead of
// the identity.
func (h Hash) Differs(found string) string {
	if found == "" {
		return fmt.Sprintf("the identity of the store is missing in %s (key %s)", h.Name, h.Key)
	}
	return fmt.Sprintf("another store is in %s (key %s has the identity %s)", h.Name, h.Key, found)
}

// metaField is the field of keyspace.Keys.Meta with the identity.
const metaField = "identity"

// MetaHash returns the hash at keyspace.Keys.Meta.
func MetaHash(k *keyspace.Keys) Hash { return Hash{"the format", k.Meta, metaField} }

// HashesOf returns the hashes with the identity of a store with these shards,
// without keyspace.Keys.Meta.
func HashesOf(k *keyspace.Keys, shards []*keyspace.Shard) []Hash {
	all := make([]Hash, 0, 2+len(shards))
	all = append(all, Hash{"the settings", k.SettingsID, "store"}, Hash{"the nodes", k.NodesID, "store"})
	for _, sh := range shards {
		all = append(all, Hash{"shard " + strconv.Itoa(sh.Number), sh.Own, "store"})
	}
	return all
}

// Watch holds a node's knowledge of the identity of its store. The poll updates
// it.
type Watch struct {
	servers *redisconn.Servers
	shards  []*keyspace.Shard
	config  Config

	loss      atomic.Pointer[redisconn.Loss] // why the store is closed; nil means that it is open
	rollbacks atomic.Uint64                  // see Rollbacks
	Doubt     chan struct{}                  // makes the poll compare all parts now

	// Only the poll uses the fields below.
	whole bool      // a part without the identity counts as lost: see above
	tried time.Time // when settle was last tried
	full  time.Time // when all parts, or those of a sample, were last compared
	since time.Time // when the store was closed

	turn     int    // of sample
	replaced uint64 // Servers.Replaced when all parts were last compared
	rollback rollback
}

// Config connects a Watch to its store.
type Config struct {
	Logger  *slog.Logger
	Reload  func(context.Context) error // reads the settings if other nodes have changed them; it may return a *redisconn.Loss
	Changed func()                      // is called after the store was closed or opened again

	Heartbeat time.Duration            // the time between two heartbeats of a node
	Nodes     func() int               // returns the number of live nodes
	Owned     func() []*keyspace.Shard // returns the shards that this node owns
}

// New returns a watch of the store in servers. The caller must call Identify
// next.
func New(c Config, servers *redisconn.Servers, shards []*keyspace.Shard) *Watch {
	return &Watch{servers: servers, shards: shards, config: c, Doubt: make(chan struct{}, 1)}
}

// Lost returns why the store is closed, nil if it is open. It costs one atomic
// load.
func (w *Watch) Lost() *redisconn.Loss { return w.loss.Load() }

// Rollbacks returns how often the store had older data than before.
func (w *Watch) Rollbacks() uint64 { return w.rollbacks.Load() }

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
	compareEvery = time.Second     // own shards, and one of each master, in a Cluster
	settleEvery  = 5 * time.Second // the time between two tries to have the identity confirmed by replicas
)

// Verify compares the identity of the store with the one that this process
// opened, reads the settings, and closes or opens the store. It returns an
// error if a comparison failed.
func (w *Watch) Verify(ctx context.Context, now time.Time, doubt bool) error {
	replaced := w.servers.Replaced.Load()
	all := doubt || w.loss.Load() != nil || replaced != w.replaced
	parts := w.shards
	switch {
	case all:
	case !w.servers.Cluster: // one server has all parts
		parts = w.shards[:1]
	case now.Sub(w.full) >= compareEvery:
		parts, w.full = w.sample(w.config.Owned()), now
	default:
		parts = nil
	}
	err := w.compare(ctx, parts)
	if !all && (w.rollback.missing > 0 || w.servers.Counters.Missing()) {
		all, err = true, w.compare(ctx, w.shards) // one log line has all losses
	}
	if all {
		w.noteRollback()
	}
	if err == nil {
		err = w.config.Reload(ctx)
	}
	if all && err == nil {
		w.full, w.replaced = now, replaced
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

// sample returns the node's own shards, and one shard of each master, another one
// each time. A master that was emptied or replaced has lost all its shards, so every
// node notices that, and its work does not grow with the shards of all nodes.
func (w *Watch) sample(own []*keyspace.Shard) []*keyspace.Shard {
	masters, by := w.servers.Masters.Load(), map[string][]*keyspace.Shard{}
	for _, sh := range w.shards {
		addr := masters.Of(w.servers.Slot(sh))
		by[addr] = append(by[addr], sh)
	}
	parts := slices.Clone(own)
	for _, shards := range by {
		parts = append(parts, shards[w.turn%len(shards)])
	}
	w.turn++
	return parts
}

// compare returns a *redisconn.Loss if one of these shards, or another part of the
// store, has another identity or none. Otherwise it returns the error of a server
// that is unavailable.
func (w *Watch) compare(ctx context.Context, shards []*keyspace.Shard) error {
	hashes := append([]Hash{MetaHash(w.servers.Keys)}, HashesOf(w.servers.Keys, shards)...)
	found, beats, away := readIdentities(ctx, w.servers, hashes)
	if beats > 0 && !w.servers.Doubted(w.servers.Keys.Nodes) { // the heartbeats that a replaced master counts are lost
		w.rollback.compare(beats, w.config.Nodes())
	}
	if l := lossOf(hashes, found, w.servers.Identity, w.whole); l != nil {
		return l
	}
	if w.whole || !slices.ContainsFunc(found, func(id *string) bool { return id != nil && *id == "" }) {
		return away
	}
	if err := writeIdentities(ctx, w.servers, w.shards); err != nil {
		return err
	}
	w.config.Logger.Warn("this node wrote the identity of the store again: a failover had lost it in a part of the store", "identity", w.servers.Identity)
	return nil
}

func (w *Watch) shut(l *redisconn.Loss, now time.Time) {
	before := w.loss.Swap(l)
	if before == nil {
		w.since = now
	}
	if before == nil || !errors.Is(before.Kind, l.Kind) {
		w.config.Logger.Error("the store is closed: requests are refused, and no task is sent", "found", l.Found, "identity", w.servers.Identity, "reason", l.Kind)
		w.config.Changed()
	}
}

func (w *Watch) reopen(now time.Time) {
	if w.loss.Swap(nil) == nil {
		return
	}
	w.config.Logger.Info("the store is open again: its data is back, and tasks are sent", "identity", w.servers.Identity, "after", now.Sub(w.since).Round(time.Millisecond).String())
	w.config.Changed()
}

// settle gives the identity to every part. When every replica that follows has
// it, settle records that in keyspace.Keys.Meta. It reports whether that is done.
func (w *Watch) settle(ctx context.Context) bool {
	if writeIdentities(ctx, w.servers, w.shards) != nil || !w.servers.Synced(ctx) {
		return false
	}
	r := redisconn.NewRepair(w.servers.Keys.Meta, metaField, -1, w.servers.Identity)
	r.Write("HSETNX", w.servers.Keys.Meta, "whole", "1")
	_, err := w.servers.Mend(ctx, r)
	return err == nil
}

// Identify compares the identity of the store with that of its parts when the
// store is opened, and gives it to parts that have none yet. Errors:
// task.ErrStoreReplaced, task.ErrSettingsLost.
func (w *Watch) Identify(ctx context.Context, m Meta) error {
	w.servers.Identity, w.whole = m.identity, m.whole
	hashes := HashesOf(w.servers.Keys, w.shards)
	found, _, _ := readIdentities(ctx, w.servers, hashes) // the poll compares parts on servers that are away
	if l := lossOf(hashes, found, m.identity, m.whole); l != nil {
		return l
	}
	if !m.whole {
		w.tried = time.Now()
		w.whole = w.settle(ctx)
	}
	return nil
}

// refuseLostMeta returns an error if keyspace.Keys.Meta is gone while parts still
// have the identity of a store: such a Redis is not empty. It reads
// keyspace.Keys.Meta last, because a node that creates a store writes that first.
func refuseLostMeta(ctx context.Context, s *redisconn.Servers, shards int) error {
	hashes := HashesOf(s.Keys, s.Keys.Shards(shards))
	found, _, _ := readIdentities(ctx, s, hashes)
	there, err := redisconn.ReadOne(ctx, s, rueidis.RedisResult.AsBool, func(b rueidis.Builder) rueidis.Completed { return b.Exists().Key(s.Keys.Meta).Build() })
	if err != nil || there {
		return err
	}
	for i, b := range hashes {
		if id := found[i]; id != nil && *id != "" {
			return &redisconn.Loss{Kind: task.ErrStoreReplaced, Found: fmt.Sprintf("the key %s is gone, although %s has the identity %s", s.Keys.Meta, b.Key, *id)}
		}
	}
	return nil
}

// lossOf returns the first part in found that has another identity, or none although
// the store is whole. The hash of keyspace.Keys.Meta must have it at any time.
func lossOf(hashes []Hash, found []*string, identity string, whole bool) error {
	for i, b := range hashes {
		if id := found[i]; id != nil && *id != identity && (*id != "" || whole || b.Field == metaField) {
			return &redisconn.Loss{Kind: task.ErrStoreReplaced, Found: b.Differs(*id)}
		}
	}
	return nil
}

// readIdentities reads the identity in each hash. Empty means that there is
// none, nil that the server did not reply. The error is that of the first
// server that did not reply. beats is the number of heartbeats that the store
// has counted; zero means unknown. The counts of changes go to s.Counters.
func readIdentities(ctx context.Context, s *redisconn.Servers, hashes []Hash) (found []*string, beats int64, away error) {
	commands, bases := make(rueidis.Commands, len(hashes)), make([]redisconn.Base, len(hashes))
	for i, b := range hashes {
		bases[i] = s.Counters.Base(b.Key)
		commands[i] = s.Client.B().Hmget().Key(b.Key).Field(b.Field, s.Counters.Field, "beats").Build()
	}
	ctx, stop := s.Once(ctx, redisconn.TryTime)
	defer stop()
	found = make([]*string, len(hashes))
	for i, r := range s.Client.DoMulti(ctx, commands...) {
		values, err := r.AsStrSlice() // a missing field is ""
		if err == nil && len(values) != 3 {
			err = codec.ErrDamaged
		}
		if err != nil {
			away = cmp.Or(away, err)
			continue
		}
		found[i] = &values[0]
		if count, _ := strconv.ParseInt(values[1], 10, 64); values[0] == s.Identity { // a missing count is 0
			s.Counters.See(hashes[i].Key, bases[i], count, 0)
		}
		if n, err := strconv.ParseInt(values[2], 10, 64); err == nil {
			beats = n
		}
	}
	return found, beats, away
}

// writeIdentities gives the identity to parts that have none.
func writeIdentities(ctx context.Context, s *redisconn.Servers, shards []*keyspace.Shard) error {
	has, err := configured(ctx, s)
	if err != nil {
		return err
	}
	hashes := HashesOf(s.Keys, shards)
	repairs := make([]*redisconn.Repair, len(hashes))
	for i, b := range hashes {
		repairs[i] = repairOf(s.Keys, b, "", s.Identity, len(shards))
		if b.Key == s.Keys.SettingsID && has {
			repairs[i].Write("HSET", b.Key, "made", "1")
		}
	}
	_, err = s.Mend(ctx, repairs...)
	return err
}

// repairOf returns a repair that gives a part the identity, instead of another one.
func repairOf(k *keyspace.Keys, b Hash, instead, identity string, shards int) *redisconn.Repair {
	r := redisconn.NewRepair(b.Key, b.Field, -1, instead)
	r.Write("HSET", b.Key, b.Field, identity)
	if b.Key == k.SettingsID || b.Key == k.NodesID { // for a reader if k.Meta is lost
		r.Write("HSET", b.Key, "shards", strconv.Itoa(shards))
	}
	return r
}
