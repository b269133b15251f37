package store

import (
	"sync/atomic"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// Watcher has the functions that a store calls by itself, and which must not
// block. A nil function watches nothing.
type Watcher struct {
	// Tasks is called with tasks that were created, moved or returned, after
	// they became durable, and with the notices of task.Notice. Some calls can
	// be missing: they are hints, and LanePages and Peek return the truth.
	Tasks func([]task.Entry)

	// Wrote is called with each record that was written, before and after that: the old
	// one is nil if there was none. It is called before others read the record, and a crash
	// can undo the write. It costs each step, so it must be fast.
	Wrote func(old, t *task.Task)

	// Settings is called with each new Settings after it is durable, and must not
	// call Configure.
	Settings func(*settings.Settings)

	// Permits is called with scopes worth asking for again: another node released
	// permits that this process needs, or needs permits that it holds. Some calls
	// can be missing.
	Permits func([]PermitScope)
}

// Watchers holds the watching functions of a store, at most one of each kind.
type Watchers struct {
	wrote    atomic.Pointer[func(old, t *task.Task)]
	tasks    atomic.Pointer[func([]task.Entry)]
	settings atomic.Pointer[func(*settings.Settings)]
	permits  atomic.Pointer[func([]PermitScope)]
}

// Watch sets the functions that w has, until stop removes them.
func (ws *Watchers) Watch(w Watcher) (stop func()) {
	if w.Wrote != nil {
		ws.wrote.Store(&w.Wrote)
	}
	if w.Tasks != nil {
		ws.tasks.Store(&w.Tasks)
	}
	if w.Settings != nil {
		ws.settings.Store(&w.Settings)
	}
	if w.Permits != nil {
		ws.permits.Store(&w.Permits)
	}
	return func() {
		ws.wrote.CompareAndSwap(&w.Wrote, nil)
		ws.tasks.CompareAndSwap(&w.Tasks, nil)
		ws.settings.CompareAndSwap(&w.Settings, nil)
		ws.permits.CompareAndSwap(&w.Permits, nil)
	}
}

// Tasks returns the watcher of tasks, or nil.
func (ws *Watchers) Tasks() func([]task.Entry) {
	if f := ws.tasks.Load(); f != nil {
		return *f
	}
	return nil
}

// Wrote calls the watcher of written records.
func (ws *Watchers) Wrote(old, t *task.Task) {
	if f := ws.wrote.Load(); f != nil {
		(*f)(old, t)
	}
}

// Settings calls the watcher of settings.
func (ws *Watchers) Settings(s *settings.Settings) {
	if f := ws.settings.Load(); f != nil {
		(*f)(s)
	}
}

// Permits calls the watcher of permits.
func (ws *Watchers) Permits(scopes []PermitScope) {
	if f := ws.permits.Load(); f != nil {
		(*f)(scopes)
	}
}
