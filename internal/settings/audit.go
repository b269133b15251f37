package settings

import (
	"cmp"
	"strings"

	"github.com/foliot/foliot/internal/task"
)

// AuditEntry records an action of a person: an edit of the settings, a change of
// one task, a change of many. An entry never holds a secret, a token or a body.
type AuditEntry struct {
	Seq       uint64      `json:"-"` // grows with each entry of the store; unique
	At        task.Millis `json:"at"`
	By        string      `json:"by,omitempty"` // see Actor
	Addr      string      `json:"addr,omitempty"`
	Namespace string      `json:"namespace,omitempty"`
	Action    string      `json:"action,omitempty"`  // the noun and the verb: "task.cancel", "queue.pause", "token.revoke"
	Target    string      `json:"target,omitempty"`  // the name of the changed record
	ID        string      `json:"id,omitempty"`      // of a task's incarnation
	Version   uint64      `json:"version,omitempty"` // of the task or the setting, after the change
	Detail    string      `json:"detail,omitempty"`  // further information: "from the page"
}

// The actions of entries that belong to no edit and to no change of one task: see
// store.SettingsStore.
const (
	ActionBackup       = "backup.take"       // an operator began a backup
	ActionCancelMany   = "tasks.cancel"      // a cancel by filter
	ActionRetryMany    = "tasks.retry"       // a retry by filter
	ActionMoveMany     = "tasks.move"        // a move by filter
	ActionBackfill     = "schedule.backfill" // tasks for past instants
	ActionTokenRefused = "token.refuse"      // a request had an unknown or invalid token
	ActionScopeRefused = "scope.refuse"      // a request's token did not allow its route
)

// MaxAuditEntries is the largest number of entries in the audit log. When one more
// is added, a store removes the oldest, even if its retention has not ended.
const MaxAuditEntries = 100_000

// AuditFilter selects entries, all of them if its fields are zero.
type AuditFilter struct {
	Namespace string
	Action    string
	Target    string
	By        string      // with or without the label of a token
	From      task.Millis // inclusive
	Until     task.Millis // exclusive; zero means no bound
}

// Match reports whether f selects e.
func (f *AuditFilter) Match(e *AuditEntry) bool {
	return (f.Namespace == "" || f.Namespace == e.Namespace) &&
		(f.Action == "" || f.Action == e.Action) &&
		(f.Target == "" || f.Target == e.Target) &&
		(f.By == "" || f.By == e.By || strings.HasPrefix(e.By, f.By+" ")) &&
		e.At >= f.From && (f.Until == 0 || e.At < f.Until)
}

// AuditPage is one page of the audit log, the newest entry first.
type AuditPage struct {
	Entries []AuditEntry
	Next    uint64 // the Seq below which the next page begins; zero means that this was the last page
}

// Entry returns an entry of a's action, to which the caller adds the other fields.
func (a Actor) Entry(now task.Millis, namespace, action, target string) AuditEntry {
	return AuditEntry{At: now, By: a.By, Addr: a.Addr, Namespace: namespace, Action: action, Target: target}
}

// AuditChange returns the entry of a change that a person made to an existing task
// or schedule, and false for a program, for a change that makes a task, and if
// nothing changed. The record of a task itself names its creator and the author of
// its last change.
func AuditChange(now task.Millis, who Actor, c task.Change, r task.Result) (AuditEntry, bool) {
	switch c.(type) {
	case task.Create, task.Replace, task.Repeat:
		return AuditEntry{}, false
	}
	if who.Client == "" || r.Effect == task.Repeated || r.Already {
		return AuditEntry{}, false
	}
	e := who.Entry(now, r.Task.Namespace, c.Action(), cmp.Or(r.Task.ScheduleName(), r.Task.Name))
	e.ID, e.Version, e.Detail = r.Task.ID, r.Task.Version, "from the "+who.Client
	if r.Effect == task.Accepted {
		e.Detail += "; accepted: an attempt is or may be under way"
	}
	return e, true
}
