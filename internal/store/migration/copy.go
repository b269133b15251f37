package migration

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

const (
	pageSize = 1000 // records that are read at once
	callSize = 200  // records that a call writes: PostgreSQL needs longer for each if there are more
	editSize = 500  // settings, or entries of the audit log, that a call writes
)

// copySettings closes the target and writes the settings. It comes before the records,
// because these need their namespaces.
func (m *Migration) copySettings(ctx context.Context) error {
	changes := []settings.SettingChange{m.mark()}
	for _, r := range settingsOf(m.From) {
		changes = append(changes, settings.SettingChange{Key: r.Key(), Value: r})
	}
	for part := range slices.Chunk(changes, editSize) {
		if err := configure(ctx, m.To, part...); err != nil {
			return err
		}
	}
	return nil
}

// adopt writes records, by several calls at the same time.
func (m *Migration) adopt(ctx context.Context, page []*task.Task) error {
	if err := m.done(); err != nil { // another run was faster, and the target changes by now
		return err
	}
	var all errgroup.Group
	for part := range slices.Chunk(page, callSize) {
		steps := make([]store.Step, len(part))
		for i, t := range part {
			steps[i] = store.Step{Key: t.Key(), Transition: task.Adopt{Task: t}, Kind: store.Adoption}
		}
		all.Go(func() error {
			replies, err := m.To.Transit(ctx, task.FloorMillis(m.To.Now()), steps)
			for i, r := range replies {
				if r.Err != nil && err == nil {
					err = fmt.Errorf("write the task %q of namespace %q to %s: %w", part[i].Name, part[i].Namespace, m.To.Name, r.Err)
				}
			}
			return err
		})
	}
	return all.Wait()
}

// copyAudit writes the entries of the audit log that the target does not have yet. They
// are written in their order, so it has the oldest ones.
func (m *Migration) copyAudit(ctx context.Context) error {
	source, err := auditOf(ctx, m.From)
	if err != nil {
		return err
	}
	target, err := auditOf(ctx, m.To)
	for part := range slices.Chunk(source[min(len(target), len(source)):], editSize) {
		if err == nil {
			_, err = m.To.Configure(ctx, task.CeilMillis(m.To.Now()), []settings.Edit{settings.Note(part)})
		}
	}
	return err
}

// copyHistory writes the figures of the past.
func (m *Migration) copyHistory(ctx context.Context) error {
	now := task.CeilMillis(m.To.Now())
	for _, hours := range []bool{true, false} {
		parts, err := m.From.History(ctx, hours, history.Expired(true, now), now) // also minutes without a sum
		for some := range slices.Chunk(parts, editSize) {
			if err == nil {
				err = m.To.Remember(ctx, now, some)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// configure changes the settings of a store.
func configure(ctx context.Context, s Store, changes ...settings.SettingChange) error {
	replies, err := s.Configure(ctx, task.CeilMillis(s.Now()), []settings.Edit{edit(changes)})
	if err != nil {
		return err
	}
	if late := replies[0].Unconfirmed; len(late) > 0 {
		return fmt.Errorf("nodes of %s may still work by older settings: %q: stop them, wait 15 seconds and repeat the command", s.Name, late)
	}
	return replies[0].Err
}

// edit makes changes as they are, without an entry in the audit log.
type edit []settings.SettingChange

func (edit) Action() string { return "" }

func (edit) Target() settings.SettingKey { return settings.SettingKey{} }

func (e edit) Apply(task.Millis, *settings.Settings) ([]settings.SettingChange, error) { return e, nil }
