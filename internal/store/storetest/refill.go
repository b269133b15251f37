package storetest

import (
	"context"
	"fmt"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Refill puts c into an empty memstore.Store, as after the death of the process
// that held its leases: each lease is reaped as of now. It panics if the store
// refuses that.
func Refill[S store.Store](s S, now task.Millis, c Contents) S {
	ctx := context.Background()
	edits := []settings.Edit{asTheyAre(c.Settings), settings.Note(c.Audit)}
	if _, err := s.Configure(ctx, now, edits); err != nil {
		panic(fmt.Errorf("refill the settings: %w", err))
	}
	var steps []store.Step
	for _, t := range c.Records {
		steps = append(steps, store.Step{Key: t.Key(), Transition: asItIs{t}, Kind: store.Reaping})
	}
	for _, t := range c.Records {
		if t.State == task.Running {
			steps = append(steps, store.Step{Key: t.Key(), Transition: reaped{}, Kind: store.Reaping})
		}
	}
	if _, err := s.Transit(ctx, now, steps); err != nil {
		panic(fmt.Errorf("refill the records: %w", err))
	}
	return s
}

// asTheyAre writes settings.
type asTheyAre []settings.Setting

func (asTheyAre) Action() string { return "" }

func (asTheyAre) Target() settings.SettingKey { return settings.SettingKey{} }

func (all asTheyAre) Apply(task.Millis, *settings.Settings) (changes []settings.SettingChange, _ error) {
	for _, r := range all {
		changes = append(changes, settings.SettingChange{Key: r.Key(), Value: r})
	}
	return changes, nil
}

// asItIs writes a record.
type asItIs struct{ t *task.Task }

func (w asItIs) Apply(task.Millis, *task.Task, task.Facts) (task.Result, error) {
	return task.Result{Task: w.t}, nil
}

// reaped reaps the lease of a record.
type reaped struct{}

func (reaped) Apply(now task.Millis, old *task.Task, f task.Facts) (task.Result, error) {
	return old.Reap(now, true, f.Policy), nil
}
