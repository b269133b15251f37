package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// AuditEntry records one mutation.
type AuditEntry struct {
	At        time.Time
	By        string // "token:<id>", "anonymous" on a server without tokens, or a part of the server: "upkeep"
	Addr      string // the client's
	Namespace string
	Action    string // the noun and the verb: "task.create"
	Target    string // the name, or id, of what was changed
	ID        string // of a task's incarnation
	Version   uint64 // that the change left behind
	Detail    string
}

// AuditQuery chooses entries of the audit log: all that is given must match.
type AuditQuery struct {
	Action, Target, By string
	From               time.Time // not earlier
	Until              time.Time // earlier
}

// Audit returns the entries of the audit log, the newest first: of the client's namespace; for an operator who names none, of all, and what concerns
// the server itself. It takes a token of scope admin. An error is the last thing it yields.
func (a Admin) Audit(ctx context.Context, q AuditQuery) iter.Seq2[*AuditEntry, error] {
	values := url.Values{}
	for name, value := range map[string]string{
		"action": q.Action, "target": q.Target, "by": q.By, "from": instant(q.From), "until": instant(q.Until),
	} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return pages[AuditEntry, auditPage](ctx, a.conn, "read the audit log", "/audit", values)
}

type auditPage struct {
	Entries []*AuditEntry `json:"entries"`
	cursorField
}

func (p *auditPage) items() []*AuditEntry { return p.Entries }
