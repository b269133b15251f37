package migration

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Store is the source or the target of a migration.
type Store struct {
	store.Store
	Name string           // for people, without credentials; both names identify the migration
	Now  func() time.Time // the store's clock
}

// Migration moves the contents of From into To. This process must be no node of them.
type Migration struct {
	From, To Store
	Progress func(n int) // is called after n more records were copied, and later compared
	Compares func()      // is called between the two; nil means that nothing needs to know
}

var (
	// ErrRefused means that one of the stores is in use, or has other contents than it
	// must have.
	ErrRefused = errors.New("nothing was changed")
	// ErrDiffers means that the target has other contents than the source after the copy.
	ErrDiffers = errors.New("the stores differ")
)

func refused(format string, args ...any) error {
	return fmt.Errorf(format+" (%w)", append(args, ErrRefused)...)
}

// settle is the longest time for which a process works by older settings.
const settle = 2 * time.Second

// Run migrates, and returns the contents of both stores. After an error both stores stay
// closed, unless it is an ErrRefused: Run can be called again, or Undo.
func (m *Migration) Run(ctx context.Context) (Contents, error) {
	if err := m.Check(ctx); err != nil {
		return Contents{}, err
	}
	if mark(m.From) == nil {
		if err := configure(ctx, m.From, m.mark()); err != nil {
			return Contents{}, err
		}
		if m.From.Standing().Shared {
			time.Sleep(settle)
		}
	}
	if err := complete(ctx, m.From); err != nil { // transactions that began before
		return Contents{}, err
	}
	if m.done() != nil { // an earlier run ended before it opened the target
		target, err := m.read(ctx, m.To, nil)
		if err == nil {
			err = m.open(ctx)
		}
		return target, err
	}
	if err := m.copySettings(ctx); err != nil {
		return Contents{}, err
	}
	source, err := m.read(ctx, m.From, m.adopt)
	if err == nil {
		err = errors.Join(m.copyAudit(ctx), m.copyHistory(ctx))
	}
	if err != nil {
		return Contents{}, err
	}
	if m.Compares != nil {
		m.Compares()
	}
	target, err := m.read(ctx, m.To, nil)
	switch {
	case err != nil:
		return Contents{}, err
	case !reflect.DeepEqual(source, target):
		return Contents{}, fmt.Errorf("%w: %s has %s, and %s has %s; empty the second one and repeat the command", ErrDiffers, m.From.Name, source, m.To.Name, target)
	}
	done := &settings.Migration{From: m.From.Name, To: m.To.Name, Done: true}
	if err := configure(ctx, m.From, settings.SettingChange{Key: done.Key(), Value: done}); err != nil {
		return Contents{}, err
	}
	return target, m.open(ctx)
}

// open opens the target, for which the source is done.
func (m *Migration) open(ctx context.Context) error {
	return configure(ctx, m.To, settings.SettingChange{Key: m.mark().Key})
}

// Undo opens the source again after a migration that has not ended, or after its target
// was emptied. A target with contents stays closed.
func (m *Migration) Undo(ctx context.Context) error {
	err := m.checkMarks(ctx)
	if err == nil && mark(m.From) == nil {
		err = refused("%s is not closed", m.From.Name)
	}
	if err != nil {
		return err
	}
	return configure(ctx, m.From, settings.SettingChange{Key: m.mark().Key})
}

// Check returns an error if Run would refuse the stores.
func (m *Migration) Check(ctx context.Context) error {
	err := errors.Join(idle(ctx, m.From), idle(ctx, m.To))
	if err == nil { // a node that works does this itself
		err = errors.Join(complete(ctx, m.From), complete(ctx, m.To))
	}
	if err == nil && mark(m.To) == nil {
		err = m.done()
	}
	return errors.Join(err, m.checkMarks(ctx))
}

// done returns an error if the migration has ended. The target can be empty then, because
// tasks end and are removed.
func (m *Migration) done() error {
	if found := mark(m.From); found != nil && found.Done {
		return refused("%s has moved to %s: serve that", m.From.Name, m.To.Name)
	}
	return nil
}

// complete makes the changes that programs have left in a store for its nodes.
func complete(ctx context.Context, s Store) error {
	left, has := s.Store.(interface{ Settle(context.Context) error })
	if !has {
		return nil
	}
	if err := left.Settle(ctx); err != nil {
		return fmt.Errorf("write the changes that SQL functions have left in %s: %w", s.Name, err)
	}
	return nil
}

// checkMarks refuses stores of another migration, and a target that is neither empty nor
// a part of this one.
func (m *Migration) checkMarks(ctx context.Context) error {
	for _, s := range []Store{m.From, m.To} {
		if found := mark(s); found != nil && (found.From != m.From.Name || found.To != m.To.Name) {
			return refused("%s belongs to the migration from %s to %s: repeat or undo that", s.Name, found.From, found.To)
		}
	}
	counts, err := m.To.Counts(ctx)
	if err != nil {
		return err
	}
	log, err := m.To.Audit(ctx, settings.AuditFilter{}, 0, 1)
	switch {
	case err != nil, mark(m.To) != nil, len(counts)+len(log.Entries)+len(settingsOf(m.To)) == 0:
		return err
	case mark(m.From) != nil:
		return refused("%s has moved to %s: serve that", m.From.Name, m.To.Name)
	}
	return refused("%s is not empty: name an empty store", m.To.Name)
}

// idle refuses a store with a node that runs tasks, or may begin to.
func idle(ctx context.Context, s Store) error {
	cluster, shared := s.Store.(store.Cluster)
	if !shared {
		return nil // it is open here, so no other process has it
	}
	counts, err := s.Counts(ctx)
	if err != nil {
		return err
	}
	running := int64(0)
	for _, c := range counts {
		running += c.States[task.Running]
	}
	nodes, err := cluster.Nodes(ctx)
	for _, n := range nodes {
		if n.Live && (!n.Draining || n.Owned > 0 || running > 0) {
			return refused("%s is in use by %s: stop this node, or drain it and wait until no task runs", s.Name, n.Name)
		}
	}
	return err
}

// mark returns the migration of a store, or nil.
func mark(s Store) *settings.Migration { return s.Standing().Settings.Migration() }

func (m *Migration) mark() settings.SettingChange {
	v := &settings.Migration{From: m.From.Name, To: m.To.Name}
	return settings.SettingChange{Key: v.Key(), Value: v}
}
