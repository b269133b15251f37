package api

import (
	"sync"
	"sync/atomic"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// uses records the last use of each token since the start. The zero value is
// ready.
type uses struct {
	byToken sync.Map // settings.SettingKey to *atomic.Int64, which is Millis; zero means that the token was not used since the last call
}

func (u *uses) note(t *settings.AccessToken, now task.Millis) {
	key := t.Key()
	at, ok := u.byToken.Load(key)
	if !ok {
		at, _ = u.byToken.LoadOrStore(key, new(atomic.Int64))
	}
	at.(*atomic.Int64).Store(int64(now))
}

// TokenUses returns the last uses of tokens since the last call, as edits for
// Store.Configure, and clears them.
func (s *Server) TokenUses() []settings.Edit {
	var edits []settings.Edit
	s.uses.byToken.Range(func(key, at any) bool {
		if used := at.(*atomic.Int64).Swap(0); used != 0 {
			k := key.(settings.SettingKey)
			edits = append(edits, settings.UseToken{Namespace: k.Namespace, ID: k.Name, At: task.Millis(used)})
		}
		return true
	})
	return edits
}
