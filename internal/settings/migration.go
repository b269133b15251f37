package settings

import (
	"fmt"

	"github.com/foliot/foliot/internal/task"
)

// Migration says that the records of a store are moving, or have moved, to another
// store. While a store has one, no node opens it, and its records change only by
// task.Adopt. The source and the target have the same Migration. The target loses it at
// the end, but the source keeps it, because otherwise both would send the same tasks.
type Migration struct {
	From string `json:"from"` // the stores, without credentials
	To   string `json:"to"`
	Done bool   `json:"done,omitempty"` // only in the source: the target has all
}

var migrationKey = SettingKey{Kind: MigrationKind}

func (*Migration) Key() SettingKey { return migrationKey }

// Refusal returns the error of all calls that the migration refuses.
func (m *Migration) Refusal() error {
	return fmt.Errorf("%w: its tasks are moving, or have moved, from %s to %s: run foliot migrate with these stores until it succeeds, and then serve the second one", task.ErrUnavailable, m.From, m.To)
}

// Migration returns the migration of the store, or nil.
func (s *Settings) Migration() *Migration {
	m, _ := s.Get(migrationKey).(*Migration)
	return m
}
