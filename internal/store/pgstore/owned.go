package pgstore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/task"
)

// ownedShard is a shard that this process owns. If it is lost and acquired again, a
// new ownedShard replaces it.
type ownedShard struct {
	*membership.Owned
	number int16
	lanes  *lowwater.Set // its lanes, if it is Ready
}

// ownedShards are the shards of this process, by number; nil means not owned.
type ownedShards struct {
	all   []atomic.Pointer[ownedShard]
	marks *lowwater.Group
}

func (s *Store) memberConfig() membership.Config {
	c := s.config
	return membership.Config{
		Node: c.Node, Version: c.Version, Address: c.Address, APIs: c.APIs, Logger: c.Logger,
		Shards: s.shards, Lease: s.lease, Heartbeat: s.heartbeat(),
		Now:     s.now,
		Lag:     func() time.Duration { return s.trusted.Lag() },
		Applied: func() string { return s.settings.Load().version },
		Closed:  func() bool { return false },
		Acquired: func(o *membership.Owned) (lost func()) {
			h := &ownedShard{Owned: o, number: int16(o.Shard), lanes: s.owned.marks.New(o.Shard)}
			s.owned.all[o.Shard].Store(h)
			return func() {
				s.owned.all[o.Shard].CompareAndSwap(h, nil)
				h.lanes.Leave()
			}
		},
		Prepare: s.prepare,
		Count:   s.countLimited,
		Note:    s.note,
		UntilNext: func(period time.Duration) time.Duration {
			return period - time.Since(s.opened)%period
		},
	}
}

func (s *Store) heartbeat() time.Duration { return min(s.lease/6, time.Second) }

// silence is how long a node can be silent and still count as live.
func (s *Store) silence() time.Duration { return s.lease / 2 }

// shard returns a shard if this process owns it and has read it, otherwise nil.
func (s *Store) shard(n int16) *ownedShard {
	o := s.member.Owns(int(n))
	if h := s.owned.all[n].Load(); o != nil && h != nil && h.Owned == o && o.Ready.Load() {
		return h
	}
	return nil
}

// mine returns the shards of this process.
func (s *Store) mine() (all []*ownedShard) {
	for _, o := range s.member.Owned() {
		if h := s.owned.all[o.Shard].Load(); h != nil && h.Owned == o {
			all = append(all, h)
		}
	}
	return all
}

// numbers returns the numbers of the shards of this process.
func (s *Store) numbers() []int16 {
	all := s.mine()
	numbers := make([]int16, len(all))
	for i, h := range all {
		numbers[i] = h.number
	}
	return numbers
}

// owner returns the owner id that a step of a shard must find, nil if this process
// shares the store with no other.
func (s *Store) owner(n int16) *string {
	id := s.member.Owner(int(n))
	if id == "" {
		return nil
	}
	return &id
}

// prepare reads shards that this process has acquired. The poll waits, so its next read
// of the news sees all that the survey has not seen.
func (s *Store) prepare(ctx context.Context, owned []*membership.Owned) error {
	s.polling.Lock()
	defer s.polling.Unlock()
	var fresh []*ownedShard
	for _, o := range owned {
		if h := s.owned.all[o.Shard].Load(); h != nil && h.Owned == o {
			fresh = append(fresh, h)
		}
	}
	err := s.survey(ctx, fresh)
	if err == nil {
		for _, h := range fresh {
			h.Ready.Store(true)
		}
	}
	return err
}

// survey reads the first task of each lane in shards.
func (s *Store) survey(ctx context.Context, shards []*ownedShard) error {
	of, numbers := map[int16]*ownedShard{}, []int16{}
	for _, h := range shards {
		of[h.number] = h
		numbers = append(numbers, h.number)
	}
	heads, err := s.heads(ctx, numbers)
	entries := make([]task.Entry, len(heads))
	for i, h := range heads {
		of[h.shard].lanes.Added([]task.Entry{h.Entry})
		entries[i] = h.Entry
	}
	s.hint(entries)
	return err
}

// countLimited counts the records in shards by the namespaces that have quotas.
func (s *Store) countLimited(ctx context.Context, shards []int) (map[string]task.Counts, error) {
	return s.quotas.Count(ctx, func(ctx context.Context) (map[task.QueueKey]task.Counts, error) {
		return readCounts(ctx, s.pool, "shard = ANY($1)", shards)
	})
}
