package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// grip is the reply of the script own on one shard.
type grip struct {
	owner  string        // its id; "": nobody
	left   time.Duration // of its lease
	before string        // whose lease had ended, where it was taken over
	err    error
}

// grips runs own for shards, and returns a reply for each.
func (s *Store) grips(ctx context.Context, verb string, shards []int) []grip {
	parts, places := redisconn.Group(s.servers.Cluster, shards, func(i int) *keyspace.Shard { return s.shards[i] })
	runs := make([]redisconn.Run, len(parts))
	for n, part := range parts {
		runs[n].Args = []string{verb, s.own.who, strconv.FormatInt(s.config.ShardLease.Milliseconds(), 10), s.servers.Identity}
		for _, i := range part {
			runs[n].Keys = append(runs[n].Keys, s.shards[i].Own)
		}
	}
	out := make([]grip, len(shards))
	for n, r := range own.Do(ctx, s.servers.Client, runs) {
		s.suspect(r.Error())
		for k, g := range readGrips(r, len(parts[n])) {
			out[places[n][k]] = g
		}
	}
	return out
}

// readGrips reads the reply to a run for n shards.
func readGrips(r rueidis.RedisResult, n int) []grip {
	out := make([]grip, n)
	reply, err := r.AsStrSlice()
	if err == nil && len(reply) != 3*n {
		err = errDamaged
	}
	if l := redisconn.LossOf(err); l != nil {
		err = l // in words, for the log
	}
	for i := range out {
		if err != nil {
			out[i].err = err
			continue
		}
		ms, wrong := strconv.ParseInt(reply[3*i+1], 10, 64)
		out[i] = grip{reply[3*i], time.Duration(ms) * time.Millisecond, reply[3*i+2], wrong}
	}
	return out
}

// release gives shards up: first here, then for others. It reports whether these
// can have them at once.
func (s *Store) release(ctx context.Context, shards []int) bool {
	now := time.Now()
	for _, i := range shards {
		s.drop(i, claimState{since: now, until: now.Add(s.config.Heartbeat)})
	}
	failed, first := 0, error(nil)
	for _, g := range s.grips(ctx, "release", shards) {
		if g.err != nil {
			failed, first = failed+1, cmp.Or(first, g.err)
		}
	}
	s.servers.Trouble.About("release shards: their next owners have to wait until our leases end", first, "shards", failed)
	return first == nil
}

// hold acquires shards, or renews their leases. What fails is tried again.
func (s *Store) hold(ctx context.Context, shards []int) {
	if len(shards) == 0 {
		return
	}
	sent := time.Now() // a lease counts from here: it ends earlier for us than for others
	var fresh []*holding
	failed, first := 0, error(nil)
	var all []grip
	s.within(ctx, func(ctx context.Context) { all = s.grips(ctx, "hold", shards) })
	for n, g := range all {
		i := shards[n]
		if g.err != nil {
			failed, first = failed+1, cmp.Or(first, fmt.Errorf("shard %d: %w", i, g.err))
			continue
		}
		if h := s.accept(i, g, sent); h != nil && !h.ready.Load() {
			fresh = append(fresh, h)
		}
	}
	if len(fresh) > 0 { // also where others failed: their master may be away for long
		s.within(ctx, func(ctx context.Context) {
			if err := s.prepare(ctx, fresh); err != nil {
				failed, first = failed+len(fresh), cmp.Or(first, err)
			}
		})
	}
	s.servers.Trouble.About("own shards", first, "shards", failed)
}

// accept notes who owns shard i, since sent or later, and returns the holding
// where it is this process.
func (s *Store) accept(i int, g grip, sent time.Time) *holding {
	if !strings.HasPrefix(g.owner, s.own.who+"/") {
		if s.own.states[i].held {
			s.own.lost.Add(1)
			s.own.changes.note("others had taken over")
		}
		s.drop(i, claimState{since: sent, until: time.Now().Add(g.left)})
		return nil
	}
	h := s.own.holdings[i].Load()
	if h == nil || h.id != g.owner {
		s.drop(i, claimState{})
		h = s.newHolding(s.shards[i], g.owner)
	}
	if node, _, taken := strings.Cut(g.before, "/"); taken {
		s.own.takeovers.Add(1)
		s.own.changes.note("the leases of " + node + " had ended")
	}
	end := sent.Add(s.config.ShardLease)
	h.until.Store(int64(end.Sub(s.own.base)))
	s.own.states[i] = claimState{held: true, since: sent, until: end}
	s.own.holdings[i].Store(h)
	return h
}

func (s *Store) newHolding(sh *keyspace.Shard, id string) *holding {
	h := &holding{Shard: sh, id: id, marks: s.own.marks.New()}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	s.own.listeners.Go(func() { s.listen(ctx, sh.Wake, func(message string) { s.woken(h, message) }) })
	return h
}

// prepare reads the lanes of shards that this process has acquired: from then
// on they count as owned.
func (s *Store) prepare(ctx context.Context, hs []*holding) error {
	if err := s.survey(ctx, hs); err != nil {
		return err
	}
	for _, h := range hs {
		h.ready.Store(true)
	}
	if s.watcher.Load() == nil {
		return nil
	}
	return s.discover(ctx, hs, true)
}
