package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// auditCases: each mutation has one entry, and nothing else has one.
var auditCases = []testCase{
	{
		"every mutation has an entry",
		"One entry for each change by a client or an operator, in their order: the actor, the address, the time, the action, the incarnation and the version.",
		func(f *fixture) {
			f.who = settings.Actor{By: "token:abc", Addr: "192.0.2.7"}
			made := f.create("a", at(start))
			f.must(start+1, task.Run{Key: key("a")})
			f.edit(settings.PauseQueue{Namespace: task.DefaultNamespace, Name: "mail", Paused: true})
			f.claim(start+2, f.get("a"), "token")
			r := f.apply(start+3, task.Cancel{Key: key("a")})
			want := []settings.AuditEntry{
				{At: start, Action: "task.create", Target: "a", ID: made.ID, Version: 1},
				{At: start + 1, Action: "task.run", Target: "a", ID: made.ID, Version: 2},
				{At: start, Action: "queue.pause", Target: "mail", Version: 1},
				{At: start + 3, Action: "task.cancel", Target: "a", ID: made.ID, Version: 3, Detail: "accepted: an attempt is or may be under way"},
			}
			for i := range want {
				want[i].By, want[i].Addr, want[i].Namespace = f.who.By, f.who.Addr, task.DefaultNamespace
			}
			got := f.log(settings.AuditFilter{})
			for i := range got {
				got[i].Seq = 0
			}
			if d := diff(want, got); d != "" || r.Effect != task.Accepted {
				f.Errorf("effect %d, the log (- want, + got):\n%s", r.Effect, d)
			}
		},
	},
	{
		"a change without effect has no entry",
		"Refused changes, repeated creates, edits without effect, and the server's own changes are not recorded.",
		func(f *fixture) {
			_, hash := settings.MintToken()
			add := settings.AddToken{Namespace: task.DefaultNamespace, Scope: settings.ScopeRead, Hash: hash}
			f.edit(add)
			f.must(start, task.Create{Spec: f.spec("a", at(start), onDead), Idempotency: idem("k", "r")})
			before := len(f.log(settings.AuditFilter{}))
			f.must(start, task.Create{Spec: f.spec("a"), Idempotency: idem("k", "r")})
			f.apply(start, task.Create{Spec: f.spec("a")})
			f.apply(start, task.Cancel{Key: key("absent")})
			f.edits(settings.DropQueue{Namespace: task.DefaultNamespace, Name: "absent"},
				settings.UseToken{Namespace: task.DefaultNamespace, ID: add.Target().Name, At: start + 5})
			f.claim(start, f.get("a"), "token")
			f.settle(start, f.get("a"), "token", task.Outcome{Verdict: task.Refusal, Reason: "gone"})
			f.reap(start+1_000_000, 0)
			if got := f.log(settings.AuditFilter{}); len(got) != before {
				f.Errorf("%d entries, want %d: %+v", len(got), before, got)
			}
			if got := f.store.Settings().List(settings.TokenKind, task.DefaultNamespace)[0].(*settings.AccessToken); got.LastUsedAt != start+5 {
				f.Errorf("the token was last used at %d", got.LastUsedAt)
			}
		},
	},
	{
		"no entry holds a secret",
		"The log is read by more people than the settings: neither a token's hash nor a secret nor a body is in it.",
		func(f *fixture) {
			token, hash := settings.MintToken()
			secret := settings.MintSecret()
			f.edit(settings.AddToken{Namespace: task.DefaultNamespace, Scope: settings.ScopeRead, Hash: hash})
			f.edit(settings.AddSecret{Namespace: task.DefaultNamespace, ID: "s", Secret: secret})
			f.create("a", body("a body that is a secret"))
			text := fmt.Sprintf("%+v", f.log(settings.AuditFilter{}))
			for _, s := range []string{token, hash, secret, secret[6:], "a body that"} {
				if strings.Contains(text, s) {
					f.Errorf("%q is in the log: %s", s, text)
				}
			}
		},
	},
	{
		"an event that is no change is recorded on request",
		"Record appends entries in their order, durable with the reply, and they go by age as all others do.",
		func(f *fixture) {
			f.create("a")
			want := []settings.AuditEntry{
				{At: start + 1, By: "token:x", Addr: "192.0.2.7", Action: settings.ActionBackup},
				{At: start + 2, Namespace: "acme", By: "token:y", Action: settings.ActionTokenRefused, Target: "y", Detail: "3 times"},
				{At: start + 3, Action: settings.ActionBackup},
			}
			if err := f.store.Record(f.Context(), want); err != nil {
				f.Fatal(err)
			}
			got := f.log(settings.AuditFilter{})[1:]
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
			f.sweep(start.Add(AuditKeep)+3, 4)
		},
	},
	{
		"nothing but age ends the retention of an entry",
		"However much one namespace changes, the entries of others and of the operator stay for AuditKeep, of tasks and of settings, and so do its own.",
		func(f *fixture) {
			f.edit(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "default2"}})
			f.edit(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "other"}})
			f.edit(settings.PauseQueue{Namespace: "default2", Name: "q", Paused: true})
			f.must(start, task.Replace{Spec: f.spec("a", namespace("default2"))})
			quiet := f.log(settings.AuditFilter{Namespace: "default2"})
			const edits, changes = settings.MinAuditEntries + 100, 3 * settings.MinAuditEntries / 2
			all := make([]settings.Edit, edits)
			for i := range all {
				all[i] = settings.PauseQueue{Namespace: "other", Name: "q", Paused: i%2 == 0}
			}
			f.edits(all...)
			for range changes / 500 {
				batch := make([]task.Change, 500)
				for i := range batch {
					batch[i] = task.Replace{Spec: f.spec(numbered(i), namespace("other"))}
				}
				if _, err := f.store.Transit(f.Context(), start, store.Changes(batch)); err != nil {
					f.Fatal(err)
				}
			}
			f.sweep(start.Add(AuditKeep)-1, 0)
			if d := diff(quiet, f.log(settings.AuditFilter{Namespace: "default2"})); d != "" {
				f.Errorf("of the other namespace:\n%s", d)
			}
			if n := len(f.log(settings.AuditFilter{Action: "namespace.put"})); n != 2 {
				f.Errorf("%d entries of the operator's", n)
			}
			if n := len(f.log(settings.AuditFilter{Namespace: "other"})); n != edits+changes {
				f.Errorf("%d entries of the loud namespace, want %d", n, edits+changes)
			}
			f.sweep(start.Add(AuditKeep), 4+edits+changes)
			if left := f.log(settings.AuditFilter{}); len(left) != 0 {
				f.Errorf("%d entries are left after their retention", len(left))
			}
		},
	},
	{
		"a namespace with a quota of bytes loses its own oldest entries",
		"The part of max_bytes that records do not use bounds the entries of a namespace's tasks. The oldest entries go. The newest, those of settings and those of other namespaces stay, and an entry reports the loss.",
		func(f *fixture) {
			f.must(start, task.Replace{Spec: f.spec("a")})
			f.edit(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "other", MaxBytes: 1 << 16}})
			f.edit(settings.PauseQueue{Namespace: "other", Name: "q", Paused: true})
			f.must(start, task.Replace{Spec: f.spec("a", namespace("default2"))})
			others := f.log(settings.AuditFilter{Namespace: "default2"})
			const changes = 3 * settings.MinAuditEntries / 2
			for i := range changes {
				f.must(start+task.Millis(i), task.Replace{Spec: f.spec("x", namespace("other"), body(""))})
			}
			for range 5 {
				f.sweep(start+changes, 0)
			}
			if d := diff(others, f.log(settings.AuditFilter{Namespace: "default2"})); d != "" {
				f.Errorf("of another namespace:\n%s", d)
			}
			if n := len(f.log(settings.AuditFilter{Namespace: task.DefaultNamespace})); n != 1 {
				f.Errorf("%d entries of the default namespace", n)
			}
			if n := len(f.log(settings.AuditFilter{Namespace: "other", Action: "queue.pause"})); n != 1 {
				f.Errorf("%d entries of its settings", n)
			}
			left := f.log(settings.AuditFilter{Namespace: "other", Target: "x"})
			if n := int64(len(left)); n != settings.AuditKept(settings.MinAuditEntries) || left[0].At != start+changes-task.Millis(n) || left[n-1].At != start+changes-1 {
				f.Errorf("%d entries of its task are left, from %d to %d", n, left[0].At-start, left[len(left)-1].At-start)
			}
			if said := f.log(settings.AuditFilter{Action: settings.ActionDropped}); len(said) != 1 || said[0].Namespace != "other" || !strings.Contains(said[0].Detail, fmt.Sprint(changes-len(left))) {
				f.Errorf("the log says %+v", said)
			}
			f.edit(settings.DropQueue{Namespace: "other", Name: "q"})
		},
	},
	{
		"the log is read in parts, the newest first",
		"Pages that follow each other miss nothing and repeat nothing, with any filter and any limit.",
		func(f *fixture) {
			f.spec("x", namespace("other")) // the created namespace has an entry too
			for i := range 40 {
				f.who = settings.Actor{By: []string{"x", "y"}[i%2]}
				f.must(start+task.Millis(i), task.Replace{Spec: f.spec(numbered(i%5), namespace([]string{task.DefaultNamespace, "other"}[i%3%2]))})
			}
			all := f.log(settings.AuditFilter{})
			if len(all) != 41 || all[1].At != start || all[40].At != start+39 {
				f.Fatalf("%d entries", len(all))
			}
			for _, filter := range []settings.AuditFilter{
				{},
				{By: "x"},
				{Namespace: "other"},
				{Target: "t3"},
				{Action: "task.replace"},
				{Action: "task.create"},
				{From: start + 3, Until: start + 17},
				{Namespace: "other", By: "y", Target: "t1"},
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
		"entries and changes are as many",
		"There is no change without its entry and no entry without its change, also when many happen at once.",
		func(f *fixture) {
			specs := make([]task.Spec, crowd())
			for i := range specs {
				specs[i] = f.spec(numbered(i % 5))
			}
			var done atomic.Int64
			f.together(func(i int) {
				for _, c := range []task.Change{task.Create{Spec: specs[i]}, task.Run{Key: specs[i].Key}, task.Replace{Spec: specs[i]}, task.Cancel{Key: specs[i].Key}} {
					if r := f.one(c); r.Err == nil && !r.Already {
						done.Add(1)
					}
				}
			})
			if n := len(f.log(settings.AuditFilter{})); int64(n) != done.Load() {
				f.Errorf("%d entries, %d changes", n, done.Load())
			}
		},
	},
	{
		"entries go when their retention ended",
		"Sweep removes entries from the oldest on, to the millisecond; one that is to stay keeps those after it. Numbers are not given again.",
		func(f *fixture) {
			for i := range 20 {
				f.must(start+task.Millis(i), task.Replace{Spec: f.spec("a")})
			}
			f.must(start-500, task.Replace{Spec: f.spec("a")}) // the clock was set back
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
			f.must(start, task.Replace{Spec: f.spec("a")})
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
