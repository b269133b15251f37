package settings

import (
	"cmp"
	"fmt"

	"github.com/foliot/foliot/internal/task"
)

// AuditEntry records one mutation: its actor, its target and its time. A store
// writes the entry in the atomic batch of the mutation, so neither exists
// without the other. An entry never holds a secret, a token or a body.
type AuditEntry struct {
	Seq       uint64 // grows with each entry of the store; unique
	At        task.Millis
	By        string // see Actor
	Addr      string
	Namespace string
	Action    string // the noun and the verb: "task.create", "queue.pause", "token.revoke"
	Target    string // the name of the changed record
	ID        string // of a task's incarnation
	Version   uint64 // of the task or the setting, after the change
	Detail    string // further information: "accepted", "by filter"
}

// The actions of entries that belong to no change. See Registry.Record.
const (
	ActionBackup       = "backup.take"  // an operator began a backup
	ActionTokenRefused = "token.refuse" // a request had an unknown or invalid token
	ActionScopeRefused = "scope.refuse" // a request's token did not allow its route
	ActionDropped      = "audit.drop"   // the store dropped entries before their retention ended
)

// AuditFilter selects entries. Zero fields select all.
type AuditFilter struct {
	Namespace string
	Action    string
	Target    string
	By        string
	From      task.Millis // inclusive
	Until     task.Millis // exclusive; zero means no bound
}

// Match reports whether f selects e.
func (f *AuditFilter) Match(e *AuditEntry) bool {
	return (f.Namespace == "" || f.Namespace == e.Namespace) &&
		(f.Action == "" || f.Action == e.Action) &&
		(f.Target == "" || f.Target == e.Target) &&
		(f.By == "" || f.By == e.By) &&
		e.At >= f.From && (f.Until == 0 || e.At < f.Until)
}

// AuditPage is one page of the audit log, the newest entry first.
type AuditPage struct {
	Entries []AuditEntry
	Next    uint64 // the Seq below which the next page begins; zero means that this was the last page
}

// Entries of tasks share a namespace's quota of bytes with its records.
const (
	// AuditEntryBytes is the size that is counted for each entry. It is the
	// approximate size in the store that needs most. A fixed size makes the count
	// exact and cheap.
	AuditEntryBytes = 100
	// MinAuditEntries is the number of entries that stay, even if the records
	// use the whole quota.
	MinAuditEntries = 1000
)

// OfTask reports whether e is about a task or a schedule. Entries about
// settings do not count against a quota, so that many changes of tasks cannot
// displace the entries of admins.
func (e *AuditEntry) OfTask() bool { return e.ID != "" }

// AuditRoom returns the maximum number of audit entries about the tasks of a
// namespace whose records take the given number of bytes. It returns false if
// there is no limit. Entries use the part of the quota that records leave free.
// If they need more, the oldest entries are removed. (Refusing creates instead would stop
// a namespace for as long as its entries are kept, even if it stays within its
// rates.)
func (n *NamespaceSettings) AuditRoom(records int64) (entries int64, limited bool) {
	if n == nil || n.MaxBytes == 0 {
		return 0, false
	}
	return max(MinAuditEntries, (n.MaxBytes-records)/AuditEntryBytes), true
}

// audited returns the entry of a change to a task. The store sets Seq.
func audited(now task.Millis, who Actor, action string, r task.Result) AuditEntry {
	e := AuditEntry{
		At: now, By: who.By, Addr: who.Addr, Action: action,
		Namespace: r.Task.Namespace, Target: cmp.Or(r.Task.ScheduleName(), r.Task.Name), ID: r.Task.ID, Version: r.Task.Version,
	}
	if r.Effect == task.Accepted {
		e.Detail = "accepted: an attempt is or may be under way"
	}
	return e
}

// AuditChange returns the entry that records the effect of c. It returns false
// if nothing changed: for a repeated create or cancel, and for a checked
// schedule, whose definition stays the one its client made.
func AuditChange(now task.Millis, who Actor, c task.Change, r task.Result) (AuditEntry, bool) {
	if _, looked := c.(task.CheckSchedule); looked || r.Effect == task.Repeated || r.Already {
		return AuditEntry{}, false
	}
	return audited(now, who, c.Action(), r), true
}

// AuditKept returns how many of limit entries stay when the oldest ones are
// dropped. It is less than limit, so that the next drop is not needed at once.
func AuditKept(limit int64) int64 { return limit - limit/10 }

// AuditDropped returns the entry that records that a store dropped the oldest
// entries of a namespace before their retention ended, because there were more
// than limit.
func AuditDropped(now task.Millis, namespace string, dropped, limit int64) AuditEntry {
	return AuditEntry{
		At: now, By: "sweep", Namespace: namespace, Action: ActionDropped, Target: namespace,
		Detail: fmt.Sprintf("dropped the oldest %d entries before --audit-keep: the namespace may have %d of them here", dropped, limit),
	}
}
