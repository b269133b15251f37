package task

import (
	"cmp"
	"fmt"
)

// AuditEntry records one mutation: who changed what, and when. A store writes
// it in the mutation's own atomic batch, so there is none without the other.
// It never holds a secret, a token or a body.
type AuditEntry struct {
	Seq       uint64 // grows with each entry of the store; unique
	At        Millis
	By        string // see Actor
	Addr      string
	Namespace string
	Action    string // the noun and the verb: "task.create", "queue.pause", "token.revoke"
	Target    string // the name of what was changed
	ID        string // of a task's incarnation
	Version   uint64 // that the change left behind, of a task or of a setting
	Detail    string // what else is worth knowing: "accepted", "by filter"
}

// The actions of entries that belong to no change. See Registry.Record.
const (
	ActionBackup       = "backup.take"  // an operator began a backup
	ActionTokenRefused = "token.refuse" // a token was shown that does not hold, or is unknown
	ActionScopeRefused = "scope.refuse" // a token was shown on a route that it is not good for
	ActionDropped      = "audit.drop"   // the store dropped entries before their retention ended
)

// AuditFilter chooses entries. Zero fields choose all.
type AuditFilter struct {
	Namespace string
	Action    string
	Target    string
	By        string
	From      Millis // inclusive
	Until     Millis // exclusive; 0: no bound
}

// Match reports whether e is chosen.
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
	Next    uint64 // the Seq below which to go on; 0: there is no more
}

// audited returns the entry of a change to a task. The store sets Seq.
func audited(now Millis, who Actor, action string, r Result) AuditEntry {
	e := AuditEntry{
		At: now, By: who.By, Addr: who.Addr, Action: action,
		Namespace: r.Task.Namespace, Target: cmp.Or(r.Task.ScheduleName(), r.Task.Name), ID: r.Task.ID, Version: r.Task.Version,
	}
	if r.Effect == Accepted {
		e.Detail = "accepted: an attempt is or may be under way"
	}
	return e
}

// AuditChange returns the entry that records what c did, and false where there
// is nothing to record: a create that was repeated changed nothing, and a schedule that was
// looked at is still what its client made.
func AuditChange(now Millis, who Actor, c Change, r Result) (AuditEntry, bool) {
	if _, looked := c.(CheckSchedule); looked || r.Effect == Repeated {
		return AuditEntry{}, false
	}
	return audited(now, who, c.Action(), r), true
}

// AuditDropped returns the entry that records that a store dropped the oldest entries of a
// namespace before their retention ended, as it had more than limit.
func AuditDropped(now Millis, namespace string, dropped, limit int64) AuditEntry {
	return AuditEntry{
		At: now, By: "sweep", Namespace: namespace, Action: ActionDropped, Target: namespace,
		Detail: fmt.Sprintf("the oldest %d entries are gone before --audit-keep: the namespace may have %d of this kind here", dropped, limit),
	}
}
