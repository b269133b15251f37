package settings

import (
	"fmt"
	"strconv"

	"github.com/foliot/foliot/internal/task"
)

// Edit is one change of the settings, requested by an operator. Apply is pure: it
// returns an error, or the records that change, if any, which a store writes with the
// audit entry as one atomic batch.
type Edit interface {
	// Action is the noun and the verb for the audit log, or "" for an edit that is not
	// recorded.
	Action() string
	Target() SettingKey
	Apply(now task.Millis, s *Settings) ([]SettingChange, error)
}

// SettingChange replaces a record, or removes it.
type SettingChange struct {
	Key   SettingKey
	Value Setting // nil means that the setting was removed
}

// Stops reports whether one of edits stops something, so that the nodes that share a store
// must apply it before the reply, and whether one holds tasks, which no node may claim
// by older settings from then on.
func Stops(edits []Edit) (stops, holds bool) {
	for _, e := range edits {
		switch e.(type) {
		case AddToken, AddSecret, UseToken, ForgetTokens, EndPurge, Note:
		case RevokeToken, DropSecret, DropNamespace: // no task is held, or its removal made sure that none is
			stops = true
		default:
			stops, holds = true, true
		}
	}
	return stops, holds
}

func change(r Setting) []SettingChange { return []SettingChange{{Key: r.Key(), Value: r}} }

// EditReply is the result of one Edit of a batch.
type EditReply struct {
	Changes     []SettingChange // the records that the edit changed; empty means that nothing changed
	Unconfirmed []string        // the live nodes that had not applied the settings after two seconds
	Err         error
}

// Note appends entries to the audit log that belong to no other edit, such as a backup,
// refused tokens, or changes of tasks. It changes no setting, and the store sets Seq.
type Note []AuditEntry

// Action returns "": the entries have actions of their own.
func (n Note) Action() string { return "" }

// Target returns no key.
func (n Note) Target() SettingKey { return SettingKey{} }

// Apply changes nothing.
func (n Note) Apply(task.Millis, *Settings) ([]SettingChange, error) { return nil, nil }

// AuditEdit returns the entry that records e, or false if nothing was changed.
func AuditEdit(now task.Millis, who Actor, e Edit, changes []SettingChange) (AuditEntry, bool) {
	if e.Action() == "" || len(changes) == 0 {
		return AuditEntry{}, false
	}
	target := e.Target()
	namespace, queue := target.owner()
	entry := who.Entry(now, namespace, e.Action(), target.Name)
	if queue != "" {
		entry.Detail = "of the queue " + queue
	}
	if done, ok := e.(EndPurge); ok {
		entry.Detail = fmt.Sprintf("cancelled %d", done.Cancelled)
	}
	switch r := changes[0].Value.(type) {
	case *QueueSettings:
		entry.Version = r.Version
	case *NamespaceSettings:
		entry.Version = r.Version
	}
	return entry, true
}

// MissingError says that a setting does not exist.
type MissingError struct {
	What string // "queue", "namespace", "token", "secret"
	Name string
}

func (e *MissingError) Error() string { return fmt.Sprintf("there is no %s %q", e.What, e.Name) }

// BusyError says that a setting cannot be changed in its present state.
type BusyError struct {
	What string
	Name string
	Why  string // the reason, and the remedy
}

func (e *BusyError) Error() string { return fmt.Sprintf("the %s %q: %s", e.What, e.Name, e.Why) }

// RateError says that a namespace has exceeded a rate.
type RateError struct {
	Namespace string
	Rate      Rate
	Limit     float64 // a second
}

func (e *RateError) Error() string {
	things := map[Rate]string{CreateRate: "creates of tasks", ChangeRate: "changes", ReadRate: "reads", EditRate: "edits of settings"}[e.Rate]
	return fmt.Sprintf("the namespace %q has used up its rate of %s, %s a second: slow down, or ask the operator for a higher %s",
		e.Namespace, things, strconv.FormatFloat(e.Limit, 'g', 6, 64), e.Rate)
}
