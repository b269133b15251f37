package servertest

import (
	"context"
	"io"

	"github.com/foliot/foliot/internal/activity"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// Engine is an api.Engine that answers with its functions. It handles all
// namespaces. Without a function it has nothing to show.
type Engine struct {
	OnLive     func() wire.Live
	OnHistory  func(namespace string, from task.Millis) wire.History
	OnAttempts func(f activity.Filter, detailed bool) wire.AttemptList
	OnNear     func() (int, task.Millis)
	OnWaitsFor func(*task.Task) *wire.WaitsFor
	OnBackup   func(context.Context, io.Writer) error
	OnExamine  func(context.Context) []wire.Finding
	OnEgress   func(ctx context.Context, url string) wire.Egress
}

// Live implements api.Engine.
func (e Engine) Live() wire.Live { return e.OnLive() }

// History implements api.Engine.
func (e Engine) History(namespace string, from task.Millis) wire.History {
	return e.OnHistory(namespace, from)
}

// RecentAttempts implements api.Engine.
func (e Engine) RecentAttempts(f activity.Filter, detailed bool) wire.AttemptList {
	return e.OnAttempts(f, detailed)
}

// Near implements api.Engine.
func (e Engine) Near() (int, task.Millis) {
	if e.OnNear == nil {
		return 0, 0
	}
	return e.OnNear()
}

// WaitsFor implements api.Engine.
func (e Engine) WaitsFor(t *task.Task) *wire.WaitsFor {
	if e.OnWaitsFor == nil {
		return nil
	}
	return e.OnWaitsFor(t)
}

// Handles implements api.Engine.
func (e Engine) Handles(string) bool { return true }

// Backup implements api.Engine.
func (e Engine) Backup() func(context.Context, io.Writer) error { return e.OnBackup }

// Examine implements api.Engine.
func (e Engine) Examine() func(context.Context) []wire.Finding { return e.OnExamine }

// Egress implements api.Engine.
func (e Engine) Egress() func(ctx context.Context, url string) wire.Egress { return e.OnEgress }
