package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// The audit log is a stream in every shard, one of the settings and one of the nodes. An entry's
// id is the server's clock in microseconds when it was written, so that the
// streams can be merged; its Seq is made of that and of the stream's number.
const (
	seqEpoch  = 1_577_836_800_000_000 // 2020, in microseconds: 50 bits last until 2055
	seqStream = 13                    // bits of the stream's number: 4096 shards, and two
	maxSeq    = 1<<63 - 1
)

// seqOf returns the Seq of the entry id of a stream. Where the server's clock was
// set back the ids of one instant are counted; that many microseconds do not matter.
func seqOf(id string, stream int) (uint64, error) {
	micros, count, _ := strings.Cut(id, "-")
	m, err := strconv.ParseUint(micros, 10, 64)
	if err != nil || m < seqEpoch {
		return 0, fmt.Errorf("id %q of the audit log: %w", id, errDamaged)
	}
	n, err := strconv.ParseUint(count, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("id %q of the audit log: %w", id, errDamaged)
	}
	return (m+n-seqEpoch)<<seqStream | uint64(stream), nil
}

// logs returns the keys of the streams, by number.
func (s *Store) logs() []string {
	keys := make([]string, 0, len(s.shards)+2)
	for _, sh := range s.shards {
		keys = append(keys, sh.log)
	}
	return append(keys, settingsLog, nodesLog)
}

// entry is an entry of the audit log and the stream's own name for it.
type entry struct {
	task.AuditEntry
	stream int
	id     string
}

// readLogs reads a part of each of the streams, "" for none, and returns them in the same order.
func (s *Store) readLogs(ctx context.Context, keys []string, part func(b rueidis.Builder, key string) rueidis.Completed) ([][]entry, error) {
	var commands []command
	var of []int
	for i, key := range keys {
		if key != "" {
			commands, of = append(commands, func(b rueidis.Builder) rueidis.Completed { return part(b, key) }), append(of, i)
		}
	}
	results, err := s.servers.ask(ctx, commands...)
	if err != nil {
		return nil, err
	}
	parts := make([][]entry, len(keys))
	for n, r := range results {
		i := of[n]
		found, err := r.AsXRange()
		if err != nil {
			return nil, err
		}
		for _, x := range found {
			e, err := decodeEntry(x)
			if err != nil {
				return nil, err
			}
			if e.Seq, err = seqOf(x.ID, i); err != nil {
				return nil, err
			}
			parts[i] = append(parts[i], entry{e, i, x.ID})
		}
	}
	return parts, nil
}

func encodeEntry(e *task.AuditEntry) string {
	return string(codec.AppendAuditEntry([]byte{codec.Format}, &task.AuditEntry{}, e))
}

func decodeEntry(x rueidis.XRangeEntry) (task.AuditEntry, error) {
	all, err := codec.DecodeAuditEntries([]byte(x.FieldValues["e"]))
	if err != nil || len(all) != 1 {
		return task.AuditEntry{}, errors.Join(fmt.Errorf("entry %s of the audit log: %w", x.ID, errDamaged), err)
	}
	return all[0], nil
}

// Audit implements task.Registry.
func (s *Store) Audit(ctx context.Context, f task.AuditFilter, before uint64, limit int) (task.AuditPage, error) {
	leave, err := s.enter(ctx)
	if err != nil {
		return task.AuditPage{}, err
	}
	defer leave()
	page, err := s.audit(ctx, f, cmp.Or(before, maxSeq), limit)
	return page, s.failure(err)
}

func (s *Store) audit(ctx context.Context, f task.AuditFilter, before uint64, limit int) (page task.AuditPage, err error) {
	for examined, part := 0, max(limit, 100); examined < task.MaxPageExamined; part = max(part, 1000) {
		newest, more, err := s.newest(ctx, before, min(part, task.MaxPageExamined-examined))
		if err != nil {
			return task.AuditPage{}, err
		}
		for _, e := range newest {
			if len(page.Entries) >= limit {
				return page, nil
			}
			examined++
			before, page.Next = e.Seq, e.Seq
			if f.Match(&e.AuditEntry) {
				page.Entries = append(page.Entries, e.AuditEntry)
			}
		}
		if !more {
			page.Next = 0
			return page, nil
		}
	}
	return page, nil
}

// newest returns the newest entries whose Seq is below before, at most limit,
// and whether there are more. Each stream is asked for somewhat more than its part, and
// on where that was not all.
func (s *Store) newest(ctx context.Context, before uint64, limit int) ([]entry, bool, error) {
	end := "+"
	if before != maxSeq {
		end = strconv.FormatUint(before>>seqStream+seqEpoch, 10)
	}
	keys := s.logs()
	open, lists := slices.Clone(keys), make([][]entry, len(keys)) // open: "" where nothing of the stream is wanted any more
	for ask := min(limit+2, 8+2*limit/len(keys)); ; ask = min(2*ask, limit+2) {
		behind := map[string]string{}
		for i, list := range lists {
			if n := len(list); n > 0 {
				behind[keys[i]] = "(" + list[n-1].id
			}
		}
		parts, err := s.readLogs(ctx, open, func(b rueidis.Builder, key string) rueidis.Completed {
			return b.Xrevrange().Key(key).End(cmp.Or(behind[key], end)).Start("-").Count(int64(ask)).Build()
		})
		if err != nil {
			return nil, false, err
		}
		var all []entry
		for i, part := range parts {
			lists[i] = append(lists[i], part...)
			if len(part) < ask {
				open[i] = ""
			}
			for _, e := range lists[i] {
				if e.Seq < before {
					all = append(all, e)
				}
			}
		}
		slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(b.Seq, a.Seq) })
		more, on := len(all) > limit, false
		for i, key := range open {
			if key != "" && more && lists[i][len(lists[i])-1].Seq < all[limit].Seq {
				open[i] = ""
			}
			on = on || open[i] != ""
		}
		if !on {
			return all[:min(len(all), limit)], more, nil
		}
	}
}

// trimLog removes at most limit entries from the beginning of the audit log whose
// retention ended at or before now. It stops at the first that is to stay. Costs a
// read of the first entry of each stream, and more only of those that begin with
// one that goes.
func (s *Store) trimLog(ctx context.Context, now task.Millis, limit int) (int, error) {
	if s.config.logLength() == 0 || limit <= 0 {
		return 0, nil
	}
	keys := s.logs()
	goes := func(e *entry) bool { return e.At.Add(s.config.AuditKeep) <= now }
	heads, err := s.readLogs(ctx, keys, firstOf(1))
	if err != nil {
		return 0, s.failure(err)
	}
	stays, begin := uint64(maxSeq), make([]string, len(keys)) // the first that stays; the streams that begin with one that goes
	for i, head := range heads {
		switch {
		case len(head) == 0:
		case goes(&head[0]):
			begin[i] = keys[i]
		default:
			stays = min(stays, head[0].Seq)
		}
	}
	parts, err := s.readLogs(ctx, begin, firstOf(limit+1))
	if err != nil {
		return 0, s.failure(err)
	}
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.Seq, b.Seq) })
	var commands []command
	for _, e := range all[:min(limit, len(all))] {
		if !goes(&e) || e.Seq > stays {
			break
		}
		commands = append(commands, func(b rueidis.Builder) rueidis.Completed {
			return b.Xdel().Key(keys[e.stream]).Id(e.id).Build()
		})
	}
	if _, err := s.servers.ask(ctx, commands...); err != nil {
		return 0, s.failure(err)
	}
	return len(commands), nil
}

// firstOf returns what reads the first n entries of a stream.
func firstOf(n int) func(rueidis.Builder, string) rueidis.Completed {
	return func(b rueidis.Builder, key string) rueidis.Completed {
		return b.Xrange().Key(key).Start("-").End("+").Count(int64(n)).Build()
	}
}
