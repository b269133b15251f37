package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// The audit log is one stream in the slot of the settings. The script configure
// appends to it, and removes the oldest entry beyond settings.MaxAuditEntries. An
// entry has the id of its server, a time in milliseconds and a count, which its
// Seq has in its last seqCount bits.
const seqCount = 20

func seqOf(id string) (uint64, error) {
	at, count, _ := strings.Cut(id, "-")
	ms, err1 := strconv.ParseUint(at, 10, 64-seqCount)
	n, err2 := strconv.ParseUint(count, 10, seqCount)
	if err := cmp.Or(err1, err2); err != nil {
		return 0, fmt.Errorf("id %q of the audit log: %w", id, codec.ErrDamaged)
	}
	return ms<<seqCount | n, nil
}

func idOf(seq uint64) string { return fmt.Sprintf("%d-%d", seq>>seqCount, seq&(1<<seqCount-1)) }

func (s *Store) readLog(ctx context.Context, command redisconn.Command) ([]settings.AuditEntry, error) {
	found, err := redisconn.ReadOne(ctx, s.servers, rueidis.RedisResult.AsXRange, command)
	if err != nil {
		return nil, err
	}
	entries := make([]settings.AuditEntry, len(found))
	for i, x := range found {
		seq, err := seqOf(x.ID)
		if err == nil {
			entries[i], err = codec.DecodeAuditEntry(seq, []byte(x.FieldValues["e"]))
		}
		if err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// Audit implements store.SettingsStore.
func (s *Store) Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error) {
	return store.Call(ctx, &s.calls, func() (settings.AuditPage, error) {
		return kernel.Audit(f, before, limit, func(before uint64, n int) ([]settings.AuditEntry, error) {
			end := "+"
			if before != 0 {
				end = "(" + idOf(before)
			}
			return s.readLog(ctx, func(b rueidis.Builder) rueidis.Completed {
				return b.Xrevrange().Key(s.servers.Keys.SettingsLog).End(end).Start("-").Count(int64(n)).Build()
			})
		})
	})
}

// sweepLog removes at most limit entries from the beginning of the audit log if
// their retention ended at or before now. Every node does so, and mostly reads
// only the oldest entry.
func (s *Store) sweepLog(ctx context.Context, now task.Millis, limit int) (n int, err error) {
	key := s.servers.Keys.SettingsLog
	for part := 1; n < limit; part = 1000 {
		part = min(part, limit-n)
		entries, err := s.readLog(ctx, func(b rueidis.Builder) rueidis.Completed {
			return b.Xrange().Key(key).Start("-").End("+").Count(int64(part)).Build()
		})
		over := slices.IndexFunc(entries, func(e settings.AuditEntry) bool { return e.At.Add(s.config.AuditKeep) > now })
		if over < 0 {
			over = len(entries)
		}
		if err != nil || over == 0 {
			return n, err
		}
		removed, err := redisconn.ReadOne(ctx, s.servers, rueidis.RedisResult.AsInt64, func(b rueidis.Builder) rueidis.Completed {
			return b.Xtrim().Key(key).Minid().Threshold(idOf(entries[over-1].Seq + 1)).Build()
		})
		if n += int(removed); err != nil || over < part {
			return n, err
		}
	}
	return n, nil
}
