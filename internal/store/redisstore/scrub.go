package redisstore

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/task"
)

// strays are the leases that a scrub found ended. One look would not do: where a
// clock was set ahead, every lease looks ended until it is extended.
type strays struct {
	mu sync.Mutex
	m  map[task.Key]stray
}

type stray struct {
	token task.Token
	until task.Millis
	seen  task.Millis // when it was first found so
}

// lost reports whether t's lease had ended when it was first looked at, at least
// task.StrayAfter ago, and has not been extended since.
func (s *strays) lost(now task.Millis, t *task.Task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.State != task.Running || t.Lease.Until > now {
		delete(s.m, t.Key())
		return false
	}
	found := stray{t.Lease.Token, t.Lease.Until, now}
	old, ok := s.m[t.Key()]
	if !ok || old.token != found.token || old.until != found.until {
		s.m[t.Key()] = found
		return false
	}
	if now.Sub(old.seen) < task.StrayAfter {
		return false
	}
	delete(s.m, t.Key())
	return true
}

// Scrub implements task.Scrubber. The cursor is the number of a shard and the
// field of the last record examined there.
func (s *Store) Scrub(ctx context.Context, now task.Millis, cursor string, limit int) (task.Scrubbed, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return task.Scrubbed{}, err
	}
	defer leave()
	done, err := s.scrub(ctx, now, cursor, max(limit, 1))
	return done, s.failure(err)
}

func (s *Store) scrub(ctx context.Context, now task.Millis, cursor string, limit int) (done task.Scrubbed, err error) {
	number, after, _ := strings.Cut(cursor, "/")
	first, _ := strconv.Atoi(number)
	for n := first; n < len(s.shards); n++ {
		if s.holding(s.shards[n]) == nil {
			continue
		}
		fields, err := s.fieldsAfter(ctx, s.shards[n], after, limit-done.Examined)
		if err != nil {
			return done, err
		}
		after = ""
		for _, f := range fields {
			done.Examined++
			done.Next = strconv.Itoa(n) + "/" + f
		}
		if err := s.examine(ctx, now, fields, &done); err != nil {
			return done, err
		}
		if done.Examined == limit {
			return done, nil
		}
	}
	done.Next = ""
	return done, nil
}

func (s *Store) fieldsAfter(ctx context.Context, sh *shard, after string, limit int) ([]string, error) {
	low := "-"
	if after != "" {
		low = "(" + after
	}
	c := s.servers.client
	return c.Do(ctx, c.B().Zrangebylex().Key(sh.names).Min(low).Max("+").Limit(0, int64(limit)).Build()).AsStrSlice()
}

// examine looks at the records of fields, all of one shard.
func (s *Store) examine(ctx context.Context, now task.Millis, fields []string, done *task.Scrubbed) error {
	reads := make([]read, len(fields))
	for i, f := range fields {
		key, err := parseField(f)
		if err != nil {
			return err
		}
		reads[i] = read{key: key}
	}
	got, err := s.readAll(ctx, reads)
	if err != nil {
		return err
	}
	scores, err := s.scores(ctx, got)
	if err != nil {
		return err
	}
	for i, g := range got {
		if g.task == nil {
			continue // removed meanwhile
		}
		if s.strays.lost(now, g.task) {
			st := &step{key: g.task.Key(), kind: reaping, transition: reapOne{}}
			if err := s.carryOut(ctx, &request{now: now, steps: []*step{st}}); err != nil {
				return err
			}
			if st.reply.Err == nil && st.reply.Effect != 0 {
				done.Repairs = append(done.Repairs, task.Repair{Key: st.key, Found: task.FoundStray})
			}
			continue
		}
		if scores[i] {
			continue
		}
		repaired, err := s.mend(ctx, g.record)
		if err != nil {
			return err
		}
		if repaired {
			done.Repairs = append(done.Repairs, task.Repair{Key: g.task.Key(), Found: "it stood in no index where it belongs, or not at its time"})
		}
	}
	return nil
}

// scores reports of each record whether its index entry is there.
func (s *Store) scores(ctx context.Context, got []found) ([]bool, error) {
	var commands rueidis.Commands
	for _, g := range got {
		if g.task != nil {
			p := s.shard(g.task.Key()).place(g.task)
			commands = append(commands, s.servers.client.B().Zscore().Key(p.key).Member(p.member).Build())
		}
	}
	results, right := s.servers.client.DoMulti(ctx, commands...), make([]bool, len(got))
	for i, g := range got {
		if g.task == nil {
			continue
		}
		at, err := results[0].AsFloat64()
		results = results[1:]
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
		right[i] = err == nil && task.Millis(at) == s.shard(g.task.Key()).place(g.task).score
	}
	return right, nil
}

// mend writes the index entry of a record that is still as it was read, and
// removes those that it may have elsewhere.
func (s *Store) mend(ctx context.Context, r record) (bool, error) {
	sh := s.shard(r.task.Key())
	it := replacement(sh, r, r.task)
	for _, key := range []string{sh.running, sh.dead, sh.gone} {
		it.write("ZREM", key, it.field)
	}
	it.enter(sh.place(r.task))
	outcomes, _, err := s.servers.put(ctx, putOn, s.clock(s.now()), []item{it})
	if err != nil || outcomes[0].fate != carried {
		return false, err
	}
	if r.task.State == task.Scheduled {
		s.added([]task.Entry{r.task.Entry()})
	}
	return true, nil
}
