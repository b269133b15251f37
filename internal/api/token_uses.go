package api

import (
	"sync"
	"sync/atomic"

	"github.com/foliot/foliot/internal/task"
)

// uses knows when each token was used last. It holds an entry for each that was
// used since the start. The zero value is ready.
type uses struct {
	byToken sync.Map // task.SettingKey to *atomic.Int64: Millis; 0: not since the last drain
}

func (u *uses) note(t *task.AccessToken, now task.Millis) {
	key := t.Key()
	at, ok := u.byToken.Load(key)
	if !ok {
		at, _ = u.byToken.LoadOrStore(key, new(atomic.Int64))
	}
	at.(*atomic.Int64).Store(int64(now))
}

// TokenUses returns, as edits for Registry.Configure, when the tokens that were
// used since the last call were used last, and forgets it.
func (s *Server) TokenUses() []task.Edit {
	var edits []task.Edit
	s.uses.byToken.Range(func(key, at any) bool {
		if used := at.(*atomic.Int64).Swap(0); used != 0 {
			k := key.(task.SettingKey)
			edits = append(edits, task.UseToken{Namespace: k.Namespace, ID: k.Name, At: task.Millis(used)})
		}
		return true
	})
	return edits
}
