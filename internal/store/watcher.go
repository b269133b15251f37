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
	tasks    atomic.Pointer[func([]task.Entry)]
	settings atomic.Pointer[func(*settings.Settings)]
	permits  atomic.Pointer[func([]PermitScope)]
}

// Watch sets the functions that w has, until stop removes them.
func (ws *Watchers) Watch(w Watcher) (stop func()) {
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
