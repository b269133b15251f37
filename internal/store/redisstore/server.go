package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/task"
)

// maxItems is how many items one run of put carries out. The server does nothing
// else meanwhile: 100 take about 1.5 ms of it.
const maxItems = 64

// The waits between the tries of a call that the server could not take: it is
// being replaced, a slot moves, the connection broke.
const (
	firstWait = 5 * time.Millisecond
	longest   = 200 * time.Millisecond
	patience  = 2 * time.Second // in all
)

// servers is the Redis that a store lies in, whether one server or many. start
// starts the goroutine that watches it, and flights; close waits for both.
type servers struct {
	client   rueidis.Client
	cluster  bool // a call may touch one slot only
	shards   []*shard
	level    Durability
	word     time.Duration // how long replicas may take
	replicas int           // Config.Replicas
	memory   int64         // Config.Memory
	logger   *slog.Logger

	masters    atomic.Pointer[masters]
	replicated atomic.Bool  // a master had a replica once
	shorts     atomic.Int64 // flights that too few replicas confirmed

	mu    sync.Mutex // guards lines
	lines map[string]*line

	work    sync.WaitGroup // flights, and the watch
	closing chan struct{}
}

func newServers(client rueidis.Client, c Config) *servers {
	return &servers{
		client: client, cluster: client.Mode() == rueidis.ClientModeCluster,
		level: c.Durability, word: c.Durability.word(), replicas: c.Replicas, memory: c.Memory, logger: c.Logger,
		lines: map[string]*line{}, closing: make(chan struct{}),
	}
}

// start looks at the masters, and keeps on doing so.
func (s *servers) start(ctx context.Context, shards []*shard) error {
	s.shards = shards
	if err := s.look(ctx); err != nil {
		return err
	}
	s.work.Go(s.watch)
	return nil
}

// close ends what start began, and closes all connections. Nobody calls any more.
func (s *servers) close() {
	close(s.closing)
	s.work.Wait()
	for _, l := range s.lines {
		l.close()
	}
	s.client.Close()
}

// put carries out items and returns what became of each, and the server's
// clock. loose: no replica needs to confirm it. An error leaves it open what was
// carried out; it is safe to repeat.
func (s *servers) put(ctx context.Context, c clock, items []item, loose bool) ([]outcome, task.Millis, error) {
	rides, places := s.divide(c, items)
	for _, r := range rides {
		r.loose = loose
	}
	landings, err := s.send(ctx, rides)
	if err != nil {
		return nil, 0, err
	}
	outcomes, now := make([]outcome, len(items)), task.Millis(0)
	for i, l := range landings {
		if l.err != nil { // there was no memory
			for _, at := range places[i] {
				outcomes[at].fate = full
			}
			continue
		}
		at, err := readOutcomes(l.values, outcomes, places[i])
		if err != nil {
			return nil, 0, fmt.Errorf("reply of the script put: %w", err)
		}
		now = max(now, at)
	}
	return outcomes, now, nil
}

// divide makes rides of items, and returns the places of each one's items. Those
// that make new tasks are apart: a full server refuses all that a run has.
func (s *servers) divide(c clock, items []item) (rides []*ride, places [][]int) {
	type kind struct {
		slot uint16
		more bool
	}
	open := map[kind]int{} // the ride that is being filled
	var last kind
	for i := range items {
		it := &items[i]
		k := kind{s.slot(it.shard), it.more}
		if it.with {
			k = last
		}
		last = k
		at, ok := open[k]
		if !ok || len(places[at]) >= maxItems && !it.with {
			at = len(rides)
			sc := putOn
			if k.more {
				sc = putMore
			}
			rides, places, open[k] = append(rides, s.ride(sc, it.shard)), append(places, nil), at
			rides[at].clock = c
		}
		rides[at].items = append(rides[at].items, it)
		places[at] = append(places[at], i)
	}
	return rides, places
}

func (s *servers) ride(sc *script, sh *shard) *ride {
	return &ride{script: sc, shard: sh, slot: s.slot(sh), done: make(chan landing, 1)}
}

// slot returns the slot of a shard, nil for the settings. Where there is no
// cluster all lies in one.
func (s *servers) slot(sh *shard) uint16 {
	switch {
	case !s.cluster:
		return 0
	case sh == nil:
		return keySlot("settings")
	}
	return sh.slot
}

// write runs a script that writes, once for each of runs, and returns the replies.
// What lies in a shard of shards is durable then; a nil one stands for the settings.
func (s *servers) write(ctx context.Context, sc *script, shards []*shard, runs []run) ([][]rueidis.RedisMessage, error) {
	rides := make([]*ride, len(runs))
	for i, one := range runs {
		rides[i] = s.ride(sc, shards[i])
		rides[i].run = one
	}
	landings, err := s.send(ctx, rides)
	if err != nil {
		return nil, err
	}
	out := make([][]rueidis.RedisMessage, len(landings))
	for i, l := range landings {
		if l.err != nil {
			return nil, l.err
		}
		out[i] = l.values
	}
	return out, nil
}

// confirm makes sure that all that shards have now is as durable as the level
// wants it: where a mutation found that there was nothing left to do.
func (s *servers) confirm(ctx context.Context, shards []*shard) error {
	var of []*shard
	var runs []run
	met := map[string]bool{}
	for _, sh := range shards {
		addr := s.masters.Load().of(s.slot(sh))
		if met[addr] || s.wants(addr) == 0 {
			continue
		}
		met[addr] = true
		of, runs = append(of, sh), append(runs, run{keys: []string{sh.prefix + "seal"}})
	}
	if len(runs) == 0 {
		return nil
	}
	_, err := s.write(ctx, seal, of, runs)
	return err
}

// send lets rides fly until their servers took them, for as long as patience
// lasts. A landing's error then is that there was no memory.
func (s *servers) send(ctx context.Context, rides []*ride) ([]landing, error) {
	return again(ctx, rides, func(rides []*ride) []landing {
		for l, own := range s.sorted(rides) {
			l.board(own)
		}
		landings, moved := make([]landing, len(rides)), false
		for i, r := range rides {
			select {
			case landings[i] = <-r.done:
				moved = moved || landings[i].err != nil && passing(landings[i].err)
			case <-ctx.Done():
				landings[i].err = ctx.Err()
			}
		}
		if moved && s.level != Async {
			if err := s.look(ctx); err != nil {
				s.logger.Debug("ask the masters how they are", "error", err)
			}
		}
		return landings
	})
}

// sorted says which ride goes with which line.
func (s *servers) sorted(rides []*ride) map[*line][]*ride {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, out := s.masters.Load(), map[*line][]*ride{}
	for _, r := range rides {
		addr := ""
		if !r.loose && s.level != Async {
			addr = m.of(r.slot)
			if r.asked != "" {
				addr = r.asked
			}
			if s.wants(addr) == 0 {
				addr = ""
			}
		}
		l := s.lines[addr]
		if l == nil {
			l = &line{servers: s, addr: addr}
			s.lines[addr] = l
		}
		out[l] = append(out[l], r)
	}
	return out
}

func readOutcomes(reply []rueidis.RedisMessage, outcomes []outcome, places []int) (task.Millis, error) {
	if len(reply) == 0 {
		return 0, errDamaged
	}
	micros, err := reply[0].AsInt64()
	if err != nil {
		return 0, err
	}
	now := task.Millis(micros / 1000)
	if len(reply) == 1 && len(places) > 0 {
		for _, at := range places {
			outcomes[at].fate = misdated
		}
		return now, nil
	}
	if len(reply) != 1+len(places) {
		return 0, errDamaged
	}
	for i, at := range places {
		m := reply[1+i]
		if m.IsInt64() {
			n, _ := m.AsInt64()
			outcomes[at] = outcome{fate: fate(n)}
			continue
		}
		value, err := m.ToString()
		if err != nil {
			return 0, err
		}
		outcomes[at] = outcome{fate: different, value: value}
	}
	return now, nil
}

// again runs do for runs, and once more for those of them whose server was not
// to be reached or not ready, for as long as patience lasts. Of other errors only
// that a server has no memory stands in the results.
func again[R any, A interface{ Error() error }](ctx context.Context, runs []R, do func([]R) []A) ([]A, error) {
	results, open := make([]A, len(runs)), make([]int, len(runs))
	for i := range open {
		open[i] = i
	}
	for wait, spent := firstWait, time.Duration(0); ; wait = min(2*wait, longest) {
		part := make([]R, len(open))
		for i, at := range open {
			part[i] = runs[at]
		}
		var failed []int
		var last error
		for i, r := range do(part) {
			results[open[i]] = r
			if err := r.Error(); err != nil && passing(err) {
				failed, last = append(failed, open[i]), err
			} else if err != nil && !outOfMemory(err) {
				return nil, err
			}
		}
		if len(failed) == 0 {
			return results, nil
		}
		if spent >= patience {
			return nil, fmt.Errorf("for %v: %w", spent.Round(time.Millisecond), last)
		}
		if !sleep(ctx, wait) {
			return nil, ctx.Err()
		}
		open, spent = failed, spent+wait
	}
}

// passing reports whether err is of a kind that ends by itself: a server that
// is being replaced or started, a slot that moves, a connection that broke.
func passing(err error) bool {
	if errors.Is(err, task.ErrNotDurable) || errors.Is(err, errDamaged) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, rueidis.ErrClosing) {
		return false
	}
	reply, ok := rueidis.IsRedisErr(err)
	if !ok {
		return true // the connection
	}
	_, moved := reply.IsMoved()
	_, ask := reply.IsAsk()
	return moved || ask || reply.IsTryAgain() || reply.IsLoading() || reply.IsClusterDown() || strings.HasPrefix(reply.Error(), "READONLY") || strings.HasPrefix(reply.Error(), "MASTERDOWN")
}

// outOfMemory reports whether a full server refused a script.
func outOfMemory(err error) bool { return strings.HasPrefix(err.Error(), "OOM ") }

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
