package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// settingsCases: an edit is visible once it is confirmed, and not before. Two
// edits at the same time do not overwrite each other unnoticed.
var settingsCases = []testCase{
	{
		"an edit that was answered is shown",
		"After a nil error Settings includes the edit. Earlier values of Settings do not change.",
		func(f *fixture) {
			before := f.store.Standing().Settings
			r := f.edit(settings.PutQueue{Queue: queueOf("mail", func(q *settings.QueueSettings) { q.Rate = 5 })})
			if len(r.Changes) != 1 {
				f.Fatalf("%d changes", len(r.Changes))
			}
			if got := f.store.Standing().Settings.Queue(task.DefaultNamespace, "mail"); got.Rate != 5 || got.Version != 1 || got.CreatedAt != start {
				f.Errorf("the queue: %+v", got)
			}
			if got := before.Queue(task.DefaultNamespace, "mail"); got.Version != 0 {
				f.Errorf("settings from before: %+v", got)
			}
			f.edit(settings.DropQueue{Namespace: task.DefaultNamespace, Name: "mail"})
			if got := f.store.Standing().Settings.Queue(task.DefaultNamespace, "mail"); got.Version != 0 {
				f.Errorf("a queue that was dropped: %+v", got)
			}
		},
	},
	{
		"every kind of setting is kept whole",
		"A queue, a namespace, a token and a secret come back with every field.",
		func(f *fixture) {
			_, hash := settings.MintToken()
			_, childHash := settings.MintToken()
			attempts, backoff := 7, time.Minute
			q := settings.QueueSettings{
				Namespace: task.DefaultNamespace, Name: "q", Rate: 1.5, Burst: 3, Concurrency: 4, PerDestination: 2,
				Retry:   settings.RetryDefaults{MaxAttempts: &attempts, MaxBackoff: &backoff},
				Timeout: time.Second, ExpireAfter: time.Hour, OnDead: "https://dead.example/", KeepFinished: time.Minute, KeepDead: time.Hour, KeepBodies: true,
			}
			n := settings.NamespaceSettings{Name: "acme", MaxPending: 5, MaxBytes: 6, CreateRate: 7.5, CreateBurst: 8}
			f.edits(
				settings.PutQueue{Queue: q}, settings.PutNamespace{Settings: n},
				settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Label: "Käthe", Hash: hash, ExpiresAt: start + 1000},
				settings.AddToken{Namespace: "acme", Scope: settings.ScopeRead, Hash: childHash, Parent: hash[:16]},
				settings.AddSecret{Namespace: "acme", ID: "s1", Secret: settings.MintSecret(), Overlap: 0},
			)
			q.Version, q.CreatedAt, n.Version, n.CreatedAt = 1, start, 1, start
			s := f.store.Standing().Settings
			if d := diff(&q, s.Queue(task.DefaultNamespace, "q")) + diff(&n, s.Namespace("acme")); d != "" {
				f.Error(d)
			}
			if t := s.Token(hash, start); t == nil || t.Scope != settings.ScopeAdmin || t.Label != "Käthe" || t.ExpiresAt != start+1000 || !t.Operator() {
				f.Errorf("the token: %+v", t)
			}
			if t := s.Token(childHash, start); t == nil || t.Parent != hash[:16] || t.ExpiresAt != start+1000 {
				f.Errorf("the token that it made: %+v", t)
			}
			if live := s.Secrets("acme", "", start); len(live) != 1 || live[0].ID != "s1" || len(live[0].Secret) < 40 {
				f.Errorf("the secrets: %d", len(live))
			}
		},
	},
	{
		"tokens that ended are forgotten, and the store stays secured",
		"ForgetTokens removes the records of tokens that ended, with many in one edit, but the last one there is: requests need a token for ever.",
		func(f *fixture) {
			const many = 1200
			edits := []settings.Edit{}
			for range many {
				_, hash := settings.MintToken()
				edits = append(edits, settings.AddToken{Namespace: task.DefaultNamespace, Scope: settings.ScopeRead, Hash: hash, ExpiresAt: start + 1})
			}
			_, hash := settings.MintToken()
			f.edits(append(edits, settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Hash: hash, ExpiresAt: start + 2})...)
			r, err := f.store.Configure(f.Context(), start+2, []settings.Edit{settings.ForgetTokens{Keys: f.store.Standing().Settings.OldTokens(start+2, start+1)}})
			if err != nil || r[0].Err != nil || len(r[0].Changes) != many {
				f.Fatalf("forgot %d: %v, %v", len(r[0].Changes), err, r[0].Err)
			}
			last := []settings.SettingKey{{Kind: settings.TokenKind, Namespace: settings.AllNamespaces, Name: hash[:16]}}
			if r, err := f.store.Configure(f.Context(), start+2, []settings.Edit{settings.ForgetTokens{Keys: last}}); err != nil || len(r[0].Changes) != 0 {
				f.Errorf("forgot the last one: %+v, %v", r, err)
			}
			if s := f.store.Standing().Settings; !s.Secured() || len(s.List(settings.TokenKind, "")) != 1 {
				f.Errorf("%d tokens are left, secured: %v", len(s.List(settings.TokenKind, "")), s.Secured())
			}
		},
	},
	{
		"of edits to one version one succeeds",
		"A precondition is checked in the step that makes the edit: of many that name the same ETag one changes something.",
		func(f *fixture) {
			f.edit(settings.PutQueue{Queue: queueOf("mail")})
			tag := f.store.Standing().Settings.Queue(task.DefaultNamespace, "mail").ETag()
			var won atomic.Int64
			f.together(func(i int) {
				replies, err := f.store.Configure(f.Context(), start, []settings.Edit{settings.PutQueue{
					Queue: queueOf("mail", func(q *settings.QueueSettings) { q.Concurrency = 1 + i }), If: task.Precondition{IfMatch: []string{tag}},
				}})
				switch {
				case err != nil:
					f.Errorf("Configure: %v", err)
				case replies[0].Err == nil:
					won.Add(1)
				case !errors.Is(replies[0].Err, task.ErrPrecondition):
					f.Errorf("edit: %v", replies[0].Err)
				}
			})
			if q := f.store.Standing().Settings.Queue(task.DefaultNamespace, "mail"); won.Load() != 1 || q.Version != 2 {
				f.Errorf("%d succeeded, the version is %d", won.Load(), q.Version)
			}
		},
	},
	{
		"the watcher hears of new settings in their order",
		"The watcher gets each new Settings after Settings returns it and before the call returns, and never an older one after a newer.",
		func(f *fixture) {
			var told atomic.Uint64
			stop := f.store.Watch(store.Watcher{Settings: func(s *settings.Settings) {
				v := s.Queue(task.DefaultNamespace, "mail").Version
				if old := told.Swap(v); old >= v {
					f.Errorf("version %d after %d", v, old)
				}
				if shown := f.store.Standing().Settings.Queue(task.DefaultNamespace, "mail").Version; shown < v {
					f.Errorf("the watcher got version %d, Settings returned %d", v, shown)
				}
			}})
			f.together(func(int) {
				r, err := f.store.Configure(f.Context(), start, []settings.Edit{settings.PutQueue{Queue: queueOf("mail")}})
				if err != nil || r[0].Err != nil {
					f.Errorf("Configure: %v", err)
					return
				}
				if v := r[0].Changes[0].Value.(*settings.QueueSettings).Version; told.Load() < v {
					f.Errorf("the reply had version %d, the watcher got %d", v, told.Load())
				}
			})
			stop()
			f.edit(settings.PutQueue{Queue: queueOf("mail")})
			if told.Load() != uint64(crowd()) {
				f.Errorf("the watcher last got version %d, want %d", told.Load(), crowd())
			}
		},
	},
	{
		"a delivered task of a queue that keeps bodies can be sent again",
		"Finished tasks keep their bodies until retention ends, as the queue says when they end; a retry sends the same body under the same id.",
		func(f *fixture) {
			f.edit(settings.PutQueue{Queue: queueOf("kept", func(q *settings.QueueSettings) { q.KeepBodies = true })})
			for _, name := range []string{"kept", "empty", "other"} {
				q := "kept"
				if name == "other" {
					q = name
				}
				made := f.create(name, queue(q), at(start), expireAfter(time.Minute))
				if name == "empty" {
					made = f.must(start, task.Patch{Key: made.Key(), Body: &task.Body{}})
				}
				f.claim(start, made, "token")
				f.settle(start, made, "token", task.Outcome{Verdict: task.Success, Status: 200})
			}
			f.edit(settings.PutQueue{Queue: queueOf("kept")}) // applies to tasks that end from now on
			if got := f.get("kept"); got.State != task.Delivered || string(got.Request.Body) != "body of kept" || got.Request.BodyKind != task.TextBody {
				f.Fatalf("%v, body %q", got.State, got.Request.Body)
			}
			if r := f.apply(start+1, task.Revive{Key: tasktest.Key("other")}); !isStateError(r.Err) {
				f.Errorf("retry without the body: %v", r.Err)
			}
			late := start + 90_000/2
			for _, name := range []string{"kept", "empty"} {
				made := f.get(name)
				again := f.must(late, task.Revive{Key: tasktest.Key(name)})
				if again.ID != made.ID || again.Due != late || again.State != task.Scheduled {
					f.Errorf("%s: id %s, %v, due start%+d", name, again.ID, again.State, again.Due-start)
				}
			}
			f.wantCounts()
			f.sweep(start.Add(Policy.KeepFinished), 1) // the other one
			again := f.claim(late, f.get("kept"), "again")
			if string(again.Request.Body) != "body of kept" || again.Attempts != 2 {
				f.Errorf("sent again: body %q, attempt %d", again.Request.Body, again.Attempts)
			}
			f.settle(late+1, again, "again", task.Outcome{Verdict: task.Success})
			if got := f.get("kept"); got.Request.BodySize != 0 || got.Request.Body != nil {
				f.Errorf("the queue keeps no bodies any more, and the task has %q", got.Request.Body)
			}
		},
	},
}

// queueOf returns settings of a queue in the default namespace.
func queueOf(name string, edits ...func(*settings.QueueSettings)) settings.QueueSettings {
	q := settings.QueueSettings{Namespace: task.DefaultNamespace, Name: name}
	for _, edit := range edits {
		edit(&q)
	}
	return q
}

// edits applies edits in one call.
func (f *fixture) edits(edits ...settings.Edit) []settings.EditReply {
	f.Helper()
	replies, err := f.store.Configure(settings.WithActor(f.Context(), f.who), start, edits)
	if err != nil || len(replies) != len(edits) {
		f.Fatalf("Configure with %d edits: %d replies, error %v", len(edits), len(replies), err)
	}
	return replies
}

// edit applies one edit, which must succeed.
func (f *fixture) edit(e settings.Edit) settings.EditReply {
	f.Helper()
	r := f.edits(e)[0]
	if r.Err != nil {
		f.Fatalf("%s: %v", e.Action(), r.Err)
	}
	return r
}

// numbered names the tasks of cases that make many.
func numbered(i int) string { return fmt.Sprintf("t%d", i) }
