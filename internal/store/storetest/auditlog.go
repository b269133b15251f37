package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// auditCases: each edit has one entry, and each record says who changed it.
var auditCases = []testCase{
	{
		"every edit has an entry",
		"One entry for each edit of an operator, in their order: the actor, the address, the time, the action, the target and the version.",
		func(f *fixture) {
			f.who = settings.Actor{By: "token:abc shop", Token: "abc", Addr: "192.0.2.7"}
			f.edit(settings.PauseQueue{Namespace: task.DefaultNamespace, Name: "mail", Paused: true})
			f.edit(settings.PauseQueue{Namespace: task.DefaultNamespace, Name: "mail"})
			want := []settings.AuditEntry{
				{At: start, Action: "queue.pause", Target: "mail", Version: 1},
				{At: start, Action: "queue.resume", Target: "mail", Version: 2},
			}
			for i := range want {
				want[i].By, want[i].Addr, want[i].Namespace = f.who.By, f.who.Addr, task.DefaultNamespace
			}
			got := f.log(settings.AuditFilter{})
			for i := range got {
				got[i].Seq = 0
			}
			if d := diff(want, got); d != "" {
				f.Errorf("the log (- want, + got):\n%s", d)
			}
		},
	},
	{
		"a record says who made it and who changed it last",
		"The token of a create, and the time, the token and the action of the last change by a client. Attempts and refused changes leave them, and no change of a task is in the audit log.",
		func(f *fixture) {
			shop, ops := settings.Actor{Token: "0123456789abcdef"}, settings.Actor{Token: "program"}
			authors := func(name string) string {
				t := f.get(name)
				return fmt.Sprint(t.CreatedBy, ", ", t.ChangedBy, " ", t.ChangedAction, " ", max(t.ChangedAt-start, 0))
			}
			want := func(when, name, want string) {
				f.Helper()
				if got := authors(name); got != want {
					f.Errorf("%s: %q, want %q", when, got, want)
				}
			}
			f.who = shop
			f.create("a", at(start))
			f.must(start, task.PutSchedule{Spec: f.scheduleSpec("s", time.Minute)})
			want("made", "a", "0123456789abcdef,   0")
			f.who = ops
			f.must(start+1, task.Run{Key: tasktest.Key("a")})
			f.apply(start+2, task.Create{Spec: f.spec("a")})
			f.claim(start+3, f.get("a"), "token")
			want("claimed", "a", "0123456789abcdef, program task.run 1")
			f.who = settings.Actor{By: "anonymous"}
			f.must(start+4, task.Cancel{Key: tasktest.Key("a")})
			f.settle(start+5, f.get("a"), "token", task.Outcome{Verdict: task.Success})
			f.apply(start+6, task.Cancel{Key: tasktest.Key("a")})
			want("cancelled", "a", "0123456789abcdef,  task.cancel 4")
			f.who = ops
			f.must(start+7, task.Replace{Spec: f.spec("a")})
			want("replaced", "a", "program,   0")
			f.must(start+8, task.PutSchedule{Spec: f.scheduleSpec("s", time.Minute)})
			f.must(start+9, task.CheckSchedule{Key: task.ScheduleKey(task.DefaultNamespace, "s")})
			want("put again", "@s", "0123456789abcdef, program schedule.put 8")
			if log := f.log(settings.AuditFilter{}); len(log) != 0 {
				f.Errorf("the log: %+v", log)
			}
		},
	},
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
		"an event that is no edit is recorded on request",
		"Record appends entries in their order, durable with the reply, and they go by age as all others do.",
		func(f *fixture) {
			want := []settings.AuditEntry{
				{At: start + 1, By: "token:x", Addr: "192.0.2.7", Action: settings.ActionBackup},
				{At: start + 2, Namespace: "acme", By: "token:y", Action: settings.ActionTokenRefused, Target: "y", Detail: "3 times"},
				{At: start + 3, Action: settings.ActionBackup},
			}
			if _, err := f.store.Configure(f.Context(), start, []settings.Edit{settings.Note(want)}); err != nil {
				f.Fatal(err)
			}
			got := f.log(settings.AuditFilter{})
			for i := range got {
				if i > 0 && got[i].Seq <= got[i-1].Seq {
					f.Errorf("entry %d has the number %d, the one before %d", i, got[i].Seq, got[i-1].Seq)
				}
				got[i].Seq = 0
			}
			if d := diff(want, got); d != "" {
				f.Error(d)
			}
			if got := f.log(settings.AuditFilter{Namespace: "acme"}); len(got) != 1 || got[0].Target != "y" {
				f.Errorf("of the namespace: %+v", got)
			}
			f.sweep(start.Add(AuditKeep)+3, 3)
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
				if _, err := f.store.Configure(f.Context(), start, []settings.Edit{settings.Note(entries)}); err != nil {
					f.Fatal(err)
				}
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
			if _, err := f.store.Configure(f.Context(), start, []settings.Edit{settings.Note(entries)}); err != nil {
				f.Fatal(err)
			}
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
				if _, err := f.store.Configure(f.Context(), start, []settings.Edit{settings.Note([]settings.AuditEntry{{At: at, Action: settings.ActionBackup}})}); err != nil {
					f.Fatal(err)
				}
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
