package main

import (
	"bytes"
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// crowdOfSchedules: many schedules, each of which fires once an hour: spread over that hour,
// then in one minute of it, then at one instant.
func crowdOfSchedules(ctx context.Context, t *trial) error {
	for _, c := range []scheduleCrowd{
		{"hour", time.Hour, t.opts.watched, 50 * time.Millisecond},
		{"minute", time.Minute, time.Minute, time.Second},
		{"instant", 0, time.Minute, time.Minute},
	} {
		c.watched = min(c.watched, max(c.spread, time.Second))
		if err := t.fireCrowd(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// scheduleCrowd says when the schedules of a crowd fire.
type scheduleCrowd struct {
	name    string
	spread  time.Duration // over so long
	watched time.Duration // of which so long is judged
	p99     time.Duration // of the lateness, at most
}

// fireCrowd runs one crowd on a server of its own, which is restarted before the first
// instant.
func (t *trial) fireCrowd(ctx context.Context, c scheduleCrowd) error {
	st, err := t.stageIn(ctx, c.name)
	if err != nil {
		return err
	}
	defer st.close()
	sink, err := startSink(st.path("sunk"))
	if err != nil {
		return err
	}
	defer sink.end()

	const slowest = 2000 // schedules made in a second
	start := dueIn(20*time.Second + time.Duration(t.opts.schedules)*time.Second/slowest)
	all := numbered{prefix: "s", count: t.opts.schedules, due: func(i int) time.Time {
		return spreadOver(start, c.spread, i, t.opts.schedules).Truncate(time.Millisecond)
	}}
	if err := st.makeCrowd(ctx, all, sink.url()); err != nil {
		return err
	}
	if err := st.restartCrowd(ctx); err != nil {
		return err
	}
	t.must(time.Now().Before(start), "%s: the first instant is %s ahead", c.name, ms(time.Until(start)))
	seen := all.before(start.Add(c.watched))
	memory := watchMemory(ctx, st.server.pid())
	defer memory.end()
	before, err := cpuOf(st.server.pid())
	if err != nil {
		return err
	}
	if err := awaitSunk(ctx, sink, seen.count, start.Add(c.watched), 30*time.Second); err != nil {
		return err
	}
	after, err := cpuOf(st.server.pid())
	if err != nil {
		return err
	}
	t.note("memory while they fire: %v; processor time %.1f s for %d", memory.end(), (after - before).Seconds(), seen.count)
	return st.concludeCrowd(c, all, seen, sink)
}

// makeCrowd makes the schedules, one request each.
func (st *stage) makeCrowd(ctx context.Context, all numbered, callback string) error {
	began := time.Now()
	err := inParallel(all.count, 64, func(i int) error {
		return st.client.putSchedule(ctx, all.name(i), wire.ScheduleInput{
			Every: "1h", Start: wire.FormatTime(all.due(i)), Task: wire.ScheduledTask{HTTP: wire.HTTPInput{URL: callback}},
		})
	})
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	st.t.note("%d schedules made in %.1f s, %.0f a second", all.count, took, float64(all.count)/took)
	return st.mustFit("after that")
}

func (st *stage) restartCrowd(ctx context.Context) error {
	if err := st.mustRestart(ctx); err != nil {
		return err
	}
	return st.mustFit("after the restart")
}

func (st *stage) concludeCrowd(c scheduleCrowd, all, seen numbered, sink *sinkProcess) error {
	if err := st.server.stop(20 * time.Second); err != nil {
		return err
	}
	if err := sink.close(); err != nil {
		return err
	}
	v, err := seen.tally(all.occurrences(readSunk(sink.path), seen.count))
	if err != nil {
		return err
	}
	t := st.t
	t.note("%s: %d instants, arrived %d, the last %s after the first", c.name, seen.count, v.Arrived, ms(v.Last.Sub(v.First)))
	t.must(v.Lost.Count == 0, "lost %v", v.Lost)
	t.must(v.Early.Count == 0, "early %v", v.Early)
	t.must(v.Repeats == 0, "twice %d", v.Repeats)
	t.must(v.Strangers == 0, "of no instant %d", v.Strangers)
	p99 := t.lateness("of occurrences", v.Late)
	t.must(p99 <= c.p99, "%s: lateness p99 %s, at most %s", c.name, ms(p99), ms(c.p99))
	return nil
}

// before returns those of n that are due before an instant; n is in the order of the dues.
func (n numbered) before(end time.Time) numbered {
	count := 0
	for count < n.count && n.due(count).Before(end) {
		count++
	}
	n.count = count
	return n
}

// occurrences yields the callbacks of schedules that n names, each under its schedule's name:
// those of the first count schedules alone. What is of no instant keeps its name, which n
// does not know.
func (n numbered) occurrences(lines iter.Seq2[sunkLine, error], count int) iter.Seq2[sunkLine, error] {
	return func(yield func(sunkLine, error) bool) {
		for l, err := range lines {
			name, instant, _ := bytes.Cut(l.name, []byte("@"))
			if i, known := n.index(name); known && string(instant) == strconv.FormatInt(n.due(i).UnixMilli(), 10) {
				if l.name = name; i >= count {
					continue
				}
			}
			if !yield(l, err) {
				return
			}
		}
	}
}
