package servertest

import (
	"context"
	"io"

	"github.com/foliot/foliot/internal/activity"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// Engine is an api.Engine that answers with its functions. It handles all
// namespaces, and has nothing to show without a function.
type Engine struct {
	OnLive     func() wire.Live
	OnAttempts func(f activity.Filter, detailed bool) wire.AttemptList
	OnNear     func() (int, task.Millis)
	OnWaitsFor func(*task.Task) *wire.WaitsFor
	OnBackup   func(context.Context, io.Writer) error
	OnExamine  func(context.Context) []wire.Finding
	OnEgress   func(ctx context.Context, url string) wire.Egress
}

func (e Engine) Live() wire.Live { return e.OnLive() }

func (e Engine) FlushHistory(context.Context) {}

func (e Engine) RecentAttempts(f activity.Filter, detailed bool) wire.AttemptList {
	return e.OnAttempts(f, detailed)
}

func (e Engine) Near() (int, task.Millis) {
	if e.OnNear == nil {
		return 0, 0
	}
	return e.OnNear()
}

func (e Engine) WaitsFor(t *task.Task) *wire.WaitsFor {
	if e.OnWaitsFor == nil {
		return nil
	}
	return e.OnWaitsFor(t)
}

func (e Engine) Handles(string) bool { return true }

func (e Engine) Backup() func(context.Context, io.Writer) error { return e.OnBackup }

func (e Engine) Examine() func(context.Context) []wire.Finding { return e.OnExamine }

func (e Engine) Egress() func(ctx context.Context, url string) wire.Egress { return e.OnEgress }
