package redisstore

import (
	"context"
	"slices"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// step is a step and its progress.
type step = kernel.Progress[records.Record, extra]

// extra is the store's own part of a step.
type extra struct {
	after records.Record // the record as the item leaves it
	asked bool           // its Idempotency-Key was requested
	fresh bool           // the key was taken for this step
}

// medium is one call that is being applied, as a kernel.Medium.
type medium struct {
	*Store
	kernel.Call
	unconfirmed bool   // the level is Default, and no replica confirmed some of its writes
	known       fences // the fences that the settings of this round have passed
}

func (s *Store) medium(ctx context.Context, now task.Millis) *medium {
	return &medium{Store: s, Call: kernel.Call{At: now, Who: settings.ActorOf(ctx), Policy: s.config.Policy, Quotas: &s.quotas, Wrote: s.Watchers.Wrote}}
}

func (m *medium) Guess(key task.Key) (records.Record, bool) { return m.claimed.Get(key) }

func (m *medium) Pause(ctx context.Context, d time.Duration) { m.servers.Pause(ctx, d) }

func (m *medium) Finish(ctx context.Context, steps []*step) error {
	if err := m.confirm(ctx, steps); err != nil {
		return err
	}
	m.releaseKeys(ctx, steps)
	return nil
}

func (m *medium) Prepare(ctx context.Context, open []*step) error {
	if err := m.readRecords(ctx, open); err != nil {
		return err
	}
	if err := m.reserve(ctx, open); err != nil {
		return err
	}
	m.known = m.settings.Load().passed // read before the settings, so the settings are not older
	return m.unmark(ctx, m.At, open)
}

// senderOf returns the namespace whose client asked for the steps, "" if dispatch did.
func senderOf(steps []*step) string {
	if first := steps[0]; first.Kind == store.Change {
		return first.Key.Namespace
	}
	return ""
}

func (s *Store) readRecords(ctx context.Context, steps []*step) error {
	var reads []records.Read
	var of []*step
	for _, st := range steps {
		if st.Unknown() {
			reads, of = append(reads, records.Read{Key: st.Key, Body: st.Kind.NeedsBody()}), append(of, st)
		}
	}
	found, err := s.records.ReadEach(ctx, reads)
	if err != nil {
		return err
	}
	var fires []*step
	for i, st := range of {
		if err := found[i].Err; err != nil { // a damaged record must not block the other records of the call
			st.Answer(task.Result{}, err)
			continue
		}
		st.Found(found[i].Record, found[i].Body)
		if t := st.Old.Task; st.Kind == store.Fire && t != nil {
			st.Old.Task = found[i].WithBody()
			fires = append(fires, st)
		}
	}
	return s.countUnfinished(ctx, fires)
}

// countUnfinished reads how many occurrences are unfinished, for fires whose
// schedules need that number. If another fire creates an occurrence meanwhile, it
// also changes the schedule, and put refuses this fire. An occurrence that was
// requested by hand does not, so it can be missed.
func (s *Store) countUnfinished(ctx context.Context, fires []*step) error {
	fires = slices.DeleteFunc(fires, func(st *step) bool {
		return !st.Old.Task.IsSchedule() || st.Old.Task.Recur.Overlap == recurrence.AllowOverlap
	})
	unfinished, err := redisconn.Read(ctx, s.servers, rueidis.RedisResult.AsInt64, redisconn.EachOf(fires, func(b rueidis.Builder, st *step) rueidis.Completed {
		return b.Hget().Key(s.shard(st.Key).Counts).Field(records.UnfinishedField(st.Key.UnfinishedCounter())).Build()
	})...)
	for i, n := range unfinished {
		fires[i].Unfinished = n
	}
	return err
}

func (m *medium) Write(ctx context.Context, decided []*step) error {
	var items []redisconn.Item
	var of []*step // the steps of the items; nil means that the item is a task spawned by the step before it
	for _, st := range decided {
		items, of = append(items, m.item(st)), append(of, st)
		if t := st.Decision.Spawned; t != nil {
			spawned, _ := records.Replacement(m.shard(t.Key()), records.Record{}, t)
			spawned.With = true
			m.lanes.Wake(&spawned, nil, t)
			items, of = append(items, spawned), append(of, nil)
		}
	}
	loose := !slices.ContainsFunc(decided, func(st *step) bool { return st.Decision.Synced })
	outcomes, at, err := m.servers.Put(ctx, redisconn.Terms{Clock: m.clock(m.At), Fences: m.known, Sender: senderOf(decided), Loose: loose}, items)
	repliedAt := time.Now()
	if err != nil {
		return err
	}
	var entries []task.Entry
	for i, o := range outcomes {
		m.unconfirmed = m.unconfirmed || o.Unconfirmed
		if of[i] != nil {
			created := of[i].Decision.Spawned != nil && (outcomes[i+1].Status == redisconn.Applied || o.Status == redisconn.AlreadyApplied)
			entries = append(entries, m.applyOutcome(of[i], o, created, at)...)
		}
	}
	m.member.Added(entries)
	return m.passFences(ctx, outcomes, items, repliedAt)
}

// RoomFor implements kernel.Medium. A task that exists may use the rest of the memory,
// because it is delivered, retried and cancelled.
func (m *medium) RoomFor(st *step, need kernel.Need) error {
	if need == kernel.MoreRecords {
		return m.servers.Room(m.shard(st.Key))
	}
	return nil
}

// item returns the item to put for st. A settlement or an extension needs no owner:
// the stamp proves that the record still has the lease's token. So a node that has
// lost the shard can finish its claims.
func (m *medium) item(st *step) redisconn.Item {
	it, after := records.Replacement(m.shard(st.Key), st.Old, st.Decision.Task)
	st.Extra.after = after
	m.lanes.Wake(&it, st.Old.Task, st.Decision.Task)
	if st.Kind.Begins() {
		it.Owner = m.member.Owner(it.Shard)
	}
	it.More = st.Decision.Need == kernel.MoreRecords
	it.Earliest = kernel.Earliest(st.Kind, st.Old.Task, m.At)
	return it
}

// confirm waits until the records that steps have only read are durable, and at the level
// strict compares them with those that the servers have then. A put that returns a record
// has already waited for the replicas.
func (m *medium) confirm(ctx context.Context, steps []*step) error {
	var shards []*keyspace.Shard
	var reads []records.Read
	var of []*step
	for _, st := range steps {
		if st.RestsOnRead() {
			shards, reads, of = append(shards, m.shard(st.Key)), append(reads, records.Read{Key: st.Key}), append(of, st)
		}
	}
	if len(shards) == 0 {
		return nil
	}
	unconfirmed, err := m.servers.Confirm(ctx, shards)
	m.unconfirmed = m.unconfirmed || unconfirmed
	if err != nil || m.config.Durability != redisconn.Strict {
		return err
	}
	found, err := m.records.ReadEach(ctx, reads)
	for i, f := range found {
		if f.Err == nil && f.Stamp != of[i].Old.Stamp {
			of[i].Repeat()
			of[i].Extra.asked = false // the servers may not have its key
		}
	}
	return err
}
