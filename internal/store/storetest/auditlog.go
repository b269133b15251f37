package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// auditCases: the log is bounded by age and number, and read in parts.
var auditCases = []testCase{
	{
		"no entry holds a secret",
		"The log is read by more people than the settings: neither a token's hash nor a secret is in it.",
		func(f *fixture) {
			token, hash := settings.MintToken()
			secret := settings.MintSecret()
			f.edit(settings.AddToken{Namespace: task.DefaultNamespace, Scope: settings.ScopeRead, Hash: hash})
			f.edit(settings.AddSecret{Namespace: task.DefaultNamespace, ID: "s", Secret: secret})
			text := fmt.Sprintf("%+v", f.log(settings.AuditFilter{}))
			for _, s := range []string{token, hash, secret, secret[6:]} {
				if strings.Contains(text, s) {
					f.Errorf("%q is in the log: %s", s, text)
				}
			}
		},
	},
	{
		"the log keeps the newest entries",
		"One more than MaxAuditEntries removes the oldest one, before its retention has ended, and no other.",
		func(f *fixture) {
			const more = 3
			entries := make([]settings.AuditEntry, 1000)
			for from := 0; from < settings.MaxAuditEntries+more; from += len(entries) {
				entries = entries[:min(len(entries), settings.MaxAuditEntries+more-from)]
				for i := range entries {
					entries[i] = settings.AuditEntry{At: start, Action: "queue.pause", Version: uint64(from + i)}
				}
				f.edit(settings.Note(entries))
			}
			got := f.log(settings.AuditFilter{})
			if n := len(got); n != settings.MaxAuditEntries || got[0].Version != more || got[n-1].Version != settings.MaxAuditEntries+more-1 {
				f.Errorf("%d entries", n)
			}
		},
	},
	{
		"the log is read in parts, the newest first",
		"Pages that follow each other miss nothing and repeat nothing, with any filter and any limit. A token is found with and without its label.",
		func(f *fixture) {
			var entries []settings.AuditEntry
			for i := range 40 {
				entries = append(entries, settings.AuditEntry{
					At: start + task.Millis(i), By: []string{"token:x", "token:x y", "token:xy"}[i%3], Namespace: []string{task.DefaultNamespace, "other"}[i%2],
					Action: []string{"task.cancel", "queue.pause"}[i%7%2], Target: numbered(i % 5),
				})
			}
			f.edit(settings.Note(entries))
			all := f.log(settings.AuditFilter{})
			if len(all) != 40 || all[0].At != start || all[39].At != start+39 {
				f.Fatalf("%d entries", len(all))
			}
			if n := len(f.log(settings.AuditFilter{By: "token:x"})); n != 27 {
				f.Errorf("%d entries of the token, want 27", n)
			}
			for _, filter := range []settings.AuditFilter{
				{},
				{By: "token:x"},
				{Namespace: "other"},
				{Target: "t3"},
				{Action: "queue.pause"},
				{Action: "task.create"},
				{From: start + 3, Until: start + 17},
				{Namespace: "other", By: "token:xy", Target: "t1"},
			} {
				want := slices.DeleteFunc(slices.Clone(all), func(e settings.AuditEntry) bool { return !filter.Match(&e) })
				for _, limit := range []int{1, 3, 40, 1000} {
					got, err := drainLog(f.Context(), f.store, filter, limit)
					if d := diff(want, got); err != nil || d != "" {
						f.Fatalf("%+v in parts of %d: %v\n%s", filter, limit, err, d)
					}
				}
			}
			p, err := f.store.Audit(f.Context(), settings.AuditFilter{}, all[7].Seq, 2)
			if err != nil || len(p.Entries) != 2 || p.Entries[0] != all[6] || p.Entries[1] != all[5] {
				f.Errorf("before entry 7: %+v, error %v", p, err)
			}
		},
	},
	{
		"entries and edits are as many",
		"There is no edit without its entry and no entry without its edit, also when many happen at once.",
		func(f *fixture) {
			var done atomic.Int64
			f.together(func(i int) {
				replies, err := f.store.Configure(f.Context(), start, []settings.Edit{
					settings.PauseQueue{Namespace: task.DefaultNamespace, Name: numbered(i % 5), Paused: true}, settings.PauseQueue{Namespace: task.DefaultNamespace, Name: numbered(i % 5)},
				})
				if err != nil {
					f.Errorf("Configure: %v", err)
				}
				for _, r := range replies {
					if r.Err == nil && len(r.Changes) > 0 {
						done.Add(1)
					}
				}
			})
			if n := len(f.log(settings.AuditFilter{})); int64(n) != done.Load() {
				f.Errorf("%d entries, %d edits", n, done.Load())
			}
		},
	},
	{
		"entries go when their retention ended",
		"Sweep removes entries from the oldest on, to the millisecond; one that is to stay keeps those after it. Numbers are not given again.",
		func(f *fixture) {
			record := func(at task.Millis) {
				f.Helper()
				f.edit(settings.Note{{At: at, Action: settings.ActionBackup}})
			}
			for i := range 20 {
				record(start + task.Millis(i))
			}
			record(start - 500) // the clock was set back
			all := f.log(settings.AuditFilter{})
			over := start.Add(AuditKeep)
			f.sweep(over-1, 0)
			f.sweep(over, 1)
			if n, err := f.store.Sweep(f.Context(), over+9, 4); err != nil || n != 4 {
				f.Errorf("swept %d, error %v", n, err)
			}
			f.sweep(over+9, 5)
			f.sweep(over+18, 9)
			if d := diff(all[19:], f.log(settings.AuditFilter{})); d != "" {
				f.Error(d)
			}
			f.sweep(over+19, 2)
			record(start)
			if left := f.log(settings.AuditFilter{}); len(left) != 1 || left[0].Seq <= all[20].Seq {
				f.Errorf("left: %+v, the last one before was %d", left, all[20].Seq)
			}
		},
	},
}

// log returns the audit log, the oldest entry first.
func (f *fixture) log(filter settings.AuditFilter) []settings.AuditEntry {
	f.Helper()
	entries, err := drainLog(f.Context(), f.store, filter, 1000)
	if err != nil {
		f.Fatalf("Audit: %v", err)
	}
	return entries
}
