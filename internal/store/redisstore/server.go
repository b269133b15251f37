package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// servers is the Redis that a store lies in, whether one server or many.
type servers struct {
	client  rueidis.Client
	cluster bool // a call may touch one slot only
}

// put carries out items and returns what became of each, and the server's
// clock. An error leaves it open what was carried out; it is safe to repeat.
func (s *servers) put(ctx context.Context, sc *script, c clock, items []item) ([]outcome, task.Millis, error) {
	calls, places := s.calls(c, items)
	runs := make([]run, len(calls))
	for i, one := range calls {
		runs[i] = run{one.keys, one.args}
	}
	results, err := again(ctx, runs, func(runs []run) []rueidis.RedisResult { return sc.do(ctx, s.client, runs) })
	if err != nil {
		return nil, 0, err
	}
	outcomes, now := make([]outcome, len(items)), task.Millis(0)
	for i, r := range results {
		at, err := readOutcomes(r, outcomes, places[i])
		if err != nil {
			return nil, 0, fmt.Errorf("reply of the script put: %w", err)
		}
		now = max(now, at)
	}
	return outcomes, now, nil
}

// calls divides items into calls: in a cluster by slot. Of each call it returns
// the places of its items.
func (s *servers) calls(c clock, items []item) (calls []*call, places [][]int) {
	open := map[uint16]int{} // slot → the call that is being filled
	for i := range items {
		slot := uint16(0)
		if s.cluster {
			slot = items[i].shard.slot
		}
		at, ok := open[slot]
		if !ok || len(places[at]) >= maxItems && !items[i].with {
			at = len(calls)
			calls, places, open[slot] = append(calls, newCall(c)), append(places, nil), at
		}
		calls[at].add(&items[i])
		places[at] = append(places[at], i)
	}
	return calls, places
}

func readOutcomes(r rueidis.RedisResult, outcomes []outcome, places []int) (task.Millis, error) {
	reply, err := r.ToArray()
	if err != nil {
		return 0, err
	}
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
// to be reached or not ready, for as long as patience lasts.
func again(ctx context.Context, runs []run, do func([]run) []rueidis.RedisResult) ([]rueidis.RedisResult, error) {
	results, open := make([]rueidis.RedisResult, len(runs)), make([]int, len(runs))
	for i := range open {
		open[i] = i
	}
	for wait, spent := firstWait, time.Duration(0); ; wait = min(2*wait, longest) {
		part := make([]run, len(open))
		for i, at := range open {
			part[i] = runs[at]
		}
		var failed []int
		var last error
		for i, r := range do(part) {
			results[open[i]] = r
			if err := r.Error(); err != nil && passing(err) {
				failed, last = append(failed, open[i]), err
			} else if err != nil {
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
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, rueidis.ErrClosing) {
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
