package redisstore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// An Idempotency-Key belongs to one name of a namespace while the record that was
// created with it is kept. The two lie in different shards, so the key is taken first.
// If the create fails after that, the key has no record, and when underWay has passed
// the next create takes it over.

// underWay is the longest time between taking a key and creating its record.
const underWay = 10 * time.Second

// holder is the owner of a key.
type holder struct {
	name  string
	age   time.Duration
	fresh bool // the key was taken by this call
}

// ask is a create's request for its key.
type ask struct {
	st     *step
	digest string
	from   string // the name from which the key can be taken over; empty means none
}

// reserve takes the keys of creates that have none yet, and refuses creates
// whose keys belong to other names.
func (s *Store) reserve(ctx context.Context, steps []*step) error {
	var asks []ask
	for _, st := range steps {
		if digest := task.KeyOf(st.Transition); digest != "" && !st.Done && !st.Own.asked {
			asks = append(asks, ask{st: st, digest: digest})
		}
	}
	if len(asks) == 0 {
		return nil
	}
	holders, err := s.take(ctx, asks)
	if err != nil {
		return err
	}
	for i, h := range holders {
		if err := s.reserved(ctx, asks[i], h); err != nil {
			return err
		}
	}
	return nil
}

// reserved applies the answer to a create's request for its key.
func (s *Store) reserved(ctx context.Context, a ask, h holder) error {
	a.st.Own.asked = true
	if h.name != a.st.Key.Name {
		free, err := s.abandoned(ctx, a, h)
		if err != nil {
			return err
		}
		if free {
			a.from = h.name
			again, err := s.take(ctx, []ask{a})
			if err != nil {
				return err
			}
			h = again[0]
		}
	}
	if h.name != a.st.Key.Name {
		a.st.Answer(task.Result{}, task.ErrIdempotencyReuse)
		return nil
	}
	a.st.Own.fresh = h.fresh
	return nil
}

// take takes keys that have no owner, and returns the owner of each.
func (s *Store) take(ctx context.Context, asks []ask) ([]holder, error) {
	groups, places := redisconn.Group(s.servers.Cluster, asks, func(a ask) *keyspace.Shard { return s.idemShard(a.st.Key.Namespace, a.digest) })
	runs, shards := make([]redisconn.Run, len(groups)), make([]*keyspace.Shard, len(groups))
	for i, g := range groups {
		shards[i] = s.idemShard(g[0].st.Key.Namespace, g[0].digest)
		runs[i].Args = []string{s.servers.Identity}
		for _, a := range g {
			namespace := a.st.Key.Namespace
			runs[i].Keys = append(runs[i].Keys, s.idemShard(namespace, a.digest).Idem)
			runs[i].Args = append(runs[i].Args, "take", namespace+"/"+a.digest, a.st.Key.Name, a.from)
		}
		runs[i].Keys = append(runs[i].Keys, shards[i].Own)
	}
	replies, err := s.servers.Write(ctx, records.Idem, shards, runs)
	if err != nil {
		return nil, err
	}
	out := make([]holder, len(asks))
	for i, values := range replies {
		if len(values) != 2*len(places[i]) {
			return nil, codec.ErrDamaged
		}
		for n, at := range places[i] {
			name, err1 := values[2*n].ToString()
			text, err2 := values[2*n+1].ToString()
			age, err3 := strconv.ParseInt(text, 10, 64)
			if err := errors.Join(err1, err2, err3); err != nil {
				return nil, err
			}
			out[at] = holder{name: name, age: time.Duration(age) * time.Millisecond, fresh: age < 0}
		}
	}
	return out, nil
}

// abandoned reports whether the record that was created with h's key is gone. A
// create that has just taken the key may still be about to put its record.
func (s *Store) abandoned(ctx context.Context, a ask, h holder) (bool, error) {
	if h.age <= underWay {
		return false, nil
	}
	got, err := s.records.ReadAll(ctx, []records.Read{{Key: task.Key{Namespace: a.st.Key.Namespace, Name: h.name}}})
	if err != nil {
		return false, err
	}
	t := got[0].Task
	return t == nil || t.Idempotency == nil || t.Idempotency.Key != a.digest, nil
}

// unused returns the Idempotency-Key that a finished step leaves without a
// task, "" if there is none. It is the step's own key if the step was refused,
// or the key of the record that it replaced or removed.
func unused(st *step) string {
	if t := st.Reply.Task; st.Own.fresh && (st.Reply.Err != nil || t == nil || t.Idempotency == nil || t.Idempotency.Key != task.KeyOf(st.Transition)) {
		return task.KeyOf(st.Transition) // refused, or the repeat of a replace that another one followed
	}
	old, t := st.Old.Task, st.Decision.Task
	if !st.Put || old == nil || old.Idempotency == nil || t != nil && t.Idempotency != nil && t.Idempotency.Key == old.Idempotency.Key {
		return ""
	}
	return old.Idempotency.Key
}

// releaseKeys releases the keys that finished steps leave without a task, in
// one round trip. If that fails, the next create that needs such a key takes it
// over.
func (s *Store) releaseKeys(ctx context.Context, steps []*step) {
	var of []*step
	for _, st := range steps {
		if unused(st) != "" {
			of = append(of, st)
		}
	}
	groups, _ := redisconn.Group(s.servers.Cluster, of, func(st *step) *keyspace.Shard { return s.idemShard(st.Key.Namespace, unused(st)) })
	runs := make([]redisconn.Run, len(groups))
	for i, g := range groups {
		runs[i].Args = []string{s.servers.Identity}
		for _, st := range g {
			digest := unused(st)
			runs[i].Keys = append(runs[i].Keys, s.idemShard(st.Key.Namespace, digest).Idem)
			runs[i].Args = append(runs[i].Args, "drop", st.Key.Namespace+"/"+digest, st.Key.Name, "")
		}
		runs[i].Keys = append(runs[i].Keys, s.idemShard(g[0].Key.Namespace, unused(g[0])).Own)
	}
	if len(runs) > 0 {
		_, _ = s.servers.Repeat(ctx, records.Idem, runs...)
	}
}
