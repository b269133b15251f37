package sparselog

import (
	"sync"
	"time"
)

// MaxKinds bounds the kinds that have a Window of their own, and with them the
// memory of a Kinds and the lines that may be written.
const MaxKinds = 100

// Kinds has a Window for each kind of line. All kinds after the first MaxKinds
// share one. The zero value is ready. It is safe for concurrent use.
type Kinds struct {
	mu      sync.Mutex // guards the fields below
	windows map[string]*Window
	others  Window
}

// Add is Window.Add for a line of a kind.
func (k *Kinds) Add(kind string, now time.Time, most int, every time.Duration) (leftOut int, write bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.windowLocked(kind).Add(now, most, every)
}

func (k *Kinds) windowLocked(kind string) *Window {
	w := k.windows[kind]
	switch {
	case w != nil:
		return w
	case len(k.windows) == MaxKinds:
		return &k.others
	case k.windows == nil:
		k.windows = map[string]*Window{}
	}
	w = new(Window)
	k.windows[kind] = w
	return w
}
