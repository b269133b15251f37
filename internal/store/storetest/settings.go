package storetest

import (
	"fmt"
	"sync/atomic"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// settingsCases: an edit is visible once it is confirmed, and not before. Two
// edits at the same time do not overwrite each other unnoticed.
var settingsCases = []testCase{
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
	replies, err := f.store.Configure(f.Context(), start, edits)
	if err != nil || len(replies) != len(edits) {
		f.Fatalf("Configure with %d edits: %d replies, error %v", len(edits), len(replies), err)
	}
	return replies
}

// editAt applies one edit at a time, which must succeed.
func (f *fixture) editAt(now task.Millis, e settings.Edit) {
	f.Helper()
	replies, err := f.store.Configure(f.Context(), now, []settings.Edit{e})
	if err != nil || replies[0].Err != nil {
		f.Fatalf("%T: %v, %v", e, err, replies)
	}
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
