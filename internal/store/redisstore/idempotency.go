package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// An Idempotency-Key belongs to one name of a namespace while the record that was
// created with it is kept. The two lie in different shards, so the key is taken first.
// If the create fails after that, the key has no record, and the next create after
// underWay takes it over.

// underWay is the longest time between taking a key and creating its record.
const underWay = 10 * time.Second

// ask is a step's request for an Idempotency-Key.
type ask struct {
	st     *step
	digest string
	from   string // the name from which the key can be taken over; empty means none
}

// holder is the owner of a key.
type holder struct {
	name  string
	age   time.Duration
	fresh bool // the key was taken by this call
}

// reserve takes the keys of creates that have none yet, and refuses creates
// whose keys belong to other names.
func (s *Store) reserve(ctx context.Context, steps []*step) error {
	var asks []ask
	for _, st := range steps {
		if digest := task.KeyOf(st.Transition); digest != "" && !st.Done && !st.Extra.asked {
			asks = append(asks, ask{st: st, digest: digest})
		}
	}
	holders, err := s.take(ctx, asks)
	for i, h := range holders {
		if err := s.reserved(ctx, asks[i], h); err != nil {
			return err
		}
	}
	return err
}

// reserved applies the answer to a create's request for its key.
func (s *Store) reserved(ctx context.Context, a ask, h holder) error {
	name := a.st.Key.Name
	if a.st.Extra.asked = true; h.name != name {
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
	if a.st.Extra.fresh = a.st.Extra.fresh || h.fresh; h.name != name {
		a.st.Answer(task.Result{}, task.ErrIdempotencyReuse)
	}
	return nil
}

// idemRuns returns the runs of the script idem for asks, the shard of each, and the
// indexes of its asks.
func (s *Store) idemRuns(verb string, asks []ask) (runs []redisconn.Run, shards []*keyspace.Shard, places [][]int) {
	shardOf := func(a ask) *keyspace.Shard { return s.idemShard(a.st.Key.Namespace, a.digest) }
	groups, places := redisconn.Group(s.servers.Cluster, asks, shardOf)
	for _, g := range groups {
		r := redisconn.Run{Args: []string{s.servers.Identity}}
		for _, a := range g {
			r.Keys = append(r.Keys, shardOf(a).Idem)
			r.Args = append(r.Args, verb, a.st.Key.Namespace+"/"+a.digest, a.st.Key.Name, a.from)
		}
		r.Keys = append(r.Keys, shardOf(g[0]).Own)
		runs, shards = append(runs, r), append(shards, shardOf(g[0]))
	}
	return runs, shards, places
}

// take takes keys that have no owner, and returns the owner of each.
func (s *Store) take(ctx context.Context, asks []ask) ([]holder, error) {
	if len(asks) == 0 {
		return nil, nil
	}
	runs, shards, places := s.idemRuns("take", asks)
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
			age, err2 := values[2*n+1].AsInt64()
			if err := errors.Join(err1, err2); err != nil {
				return nil, err
			}
			out[at] = holder{name: name, age: time.Duration(age) * time.Millisecond, fresh: age < 0}
		}
	}
	return out, nil
}

// abandoned reports whether the record that was created with h's key is gone, unless a
// create has just taken the key, and may still be about to put its record.
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
	own := task.KeyOf(st.Transition)
	if t := st.Reply.Task; st.Extra.fresh && (st.Reply.Err != nil || t == nil || t.Idempotency == nil || t.Idempotency.Key != own) {
		return own // refused, or the repeat of a replace that another one followed
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
	var asks []ask
	for _, st := range steps {
		if digest := unused(st); st.Done && digest != "" {
			asks = append(asks, ask{st: st, digest: digest})
		}
	}
	runs, _, _ := s.idemRuns("drop", asks)
	_, _ = s.servers.Repeat(ctx, records.Idem, runs...)
}
