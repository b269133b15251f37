package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// forever is later than every due time.
const forever = task.Millis(1 << 52)

// What other nodes put into a shard its owner learns from the index of lanes,
// which it reads every Config.LanePoll; a wake-up only says the same sooner.
const (
	lookahead = 5000 // milliseconds: bounds up to so far from now are looked at
	maxPolled = 8192 // lanes that one poll looks at: of more, as where a queue is paused, each has its turn
	maxNews   = 16   // entries of one lane and shard that are told at once; reads of the lane find the others
)

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

// survey lowers the marks to what the index of lanes says.
func (s *Store) survey(ctx context.Context, hs []*holding) error {
	return s.readIndex(ctx, hs, forever, true, func(h *holding, e task.Entry) { h.marks.Added([]task.Entry{e}) })
}

// readIndex calls found for each lane that has a bound of at most until, or, but for
// all, for some of them: the next call goes on behind them.
func (s *Store) readIndex(ctx context.Context, hs []*holding, until task.Millis, all bool, found func(*holding, task.Entry)) error {
	most := -1
	if !all {
		most = max(maxPolled/max(len(hs), 1), 8)
	}
	parts, _ := redisconn.Group(s.servers.Cluster, hs, func(h *holding) *keyspace.Shard { return h.Shard })
	runs := make([]redisconn.Run, len(parts))
	for n, part := range parts {
		runs[n].Args = []string{redisconn.Score(until)}
		for _, h := range part {
			from := h.polled.Load()
			if all {
				from = 0
			}
			runs[n].Keys, runs[n].Args = append(runs[n].Keys, h.Lanes), append(runs[n].Args, strconv.FormatInt(from, 10), strconv.Itoa(most))
		}
	}
	results, err := s.servers.Repeat(ctx, lanes, runs...)
	if err != nil {
		return fmt.Errorf("read the index of lanes: %w", err)
	}
	for n, r := range results {
		indexes, err := r.ToArray()
		if err == nil && len(indexes) != len(parts[n]) {
			err = errDamaged
		}
		if err != nil {
			return fmt.Errorf("read the index of lanes: %w", err)
		}
		for i, index := range indexes {
			h, read := parts[n][i], int64(0)
			if err := eachLane(index, func(e task.Entry) { read++; found(h, e) }); err != nil {
				return err
			}
			switch {
			case all:
			case read == int64(most):
				h.polled.Add(read)
			default:
				h.polled.Store(0)
			}
		}
	}
	return nil
}

// eachLane calls found for each lane of an index, with its bound.
func eachLane(index rueidis.RedisMessage, found func(task.Entry)) error {
	texts, err := index.AsStrSlice()
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(texts); i += 2 {
		lane, err := keyspace.ParseLane(texts[i])
		if err != nil {
			return err
		}
		due, err := strconv.ParseFloat(texts[i+1], 64)
		if err != nil {
			return fmt.Errorf("bound %q of lane %q: %w", texts[i+1], texts[i], errDamaged)
		}
		found(task.Entry{Lane: lane, Due: task.Millis(due)})
	}
	return nil
}

// pollLanes looks for what others have put into our shards, until ctx ends.
func (s *Store) pollLanes(ctx context.Context) {
	tick := time.NewTicker(s.config.LanePoll)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		hs := s.own.owned()
		if len(hs) == 0 {
			continue
		}
		once, stop := context.WithTimeout(ctx, redisconn.Patience)
		// A lane that is empty by now, but still has a bound, would be read in vain.
		err := s.raiseBounds(once)
		if err == nil {
			err = s.discover(once, hs, false)
		}
		stop()
		if ctx.Err() == nil {
			s.servers.Trouble.About("look for what other nodes have scheduled", err)
		}
	}
}

// discover takes in the first entries of lanes that have a bound below their
// mark, and with all those of the other lanes, as far as they are due soon.
func (s *Store) discover(ctx context.Context, hs []*holding, all bool) error {
	type lead struct {
		h    *holding
		lane task.Lane
	}
	var leads []lead
	until := s.now() + lookahead
	err := s.readIndex(ctx, hs, until, all, func(h *holding, e task.Entry) {
		same := e
		same.Name = "\xff" // behind every name
		switch {
		case all, !h.marks.Covers(same):
			leads = append(leads, lead{h, e.Lane})
		case !h.marks.Covers(e): // the mark is at that moment: what is new may stand before it, most is old
			h.marks.Added([]task.Entry{e})
		}
	})
	if err != nil || len(leads) == 0 {
		return err
	}
	commands := make([]redisconn.Command, len(leads))
	for i, l := range leads {
		commands[i] = func(b rueidis.Builder) rueidis.Completed {
			return b.Zrange().Key(l.h.Due(keyspace.LaneMember(l.lane))).Min("-inf").Max(redisconn.Score(until)).Byscore().Limit(0, maxNews).Withscores().Build()
		}
	}
	results, err := s.servers.Ask(ctx, commands...)
	if err != nil {
		return fmt.Errorf("read the due index: %w", err)
	}
	for i, r := range results {
		found, err := r.AsZScores()
		if err != nil {
			return fmt.Errorf("read the due index: %w", err)
		}
		l := leads[i]
		if len(found) == 0 { // the bound is too low
			s.bounds.add(l.h.Shard, l.lane)
			continue
		}
		entries := make([]task.Entry, len(found))
		for n, z := range found {
			entries[n] = task.Entry{Name: z.Member, Lane: l.lane, Due: task.Millis(z.Score)}
		}
		s.learnt(l.h, entries)
	}
	return nil
}

// learnt takes in entries of a shard of ours.
func (s *Store) learnt(h *holding, entries []task.Entry) {
	for _, e := range entries {
		h.learn(e)
	}
	s.hint(entries)
}

// learn takes in what waits in the shard.
func (h *holding) learn(e task.Entry) {
	if e.Due != 0 { // otherwise an occurrence has ended: nothing new waits
		h.marks.Added([]task.Entry{e})
	}
}

// hint tells the watcher.
func (s *Store) hint(entries []task.Entry) {
	if hint := s.watcher.Load(); hint != nil && len(entries) > 0 {
		(*hint)(entries)
	}
}
