package admin

import (
	"context"
	"iter"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/internal/wire"
)

// AuditEntry records what a person did.
type AuditEntry struct {
	At        time.Time
	By        string // "token:<id>" and after a space the label, "anonymous" on a server without tokens, or a part of the server, such as "upkeep"
	Addr      string // address of the client
	Namespace string
	Action    string // noun and verb: "queue.pause"
	Target    string // name or id of the changed object
	ID        string // id of the task
	Version   uint64 // version after the change
	Detail    string
}

// AuditQuery selects entries of the audit log, which must match all fields that
// are set.
type AuditQuery struct {
	Action, Target, By string
	From               time.Time // inclusive
	Until              time.Time // exclusive
}

// Audit returns the entries of the audit log, newest first. It covers the
// client's namespace, or for an operator without a namespace all namespaces and
// the server, and needs a token of scope admin. An error is the last item.
func (a *Client) Audit(ctx context.Context, q AuditQuery) iter.Seq2[*AuditEntry, error] {
	values := conn.Params{}
	for name, value := range map[string]any{"action": q.Action, "target": q.Target, "by": q.By, "from": q.From, "until": q.Until} {
		values.Add(name, value)
	}
	return conn.Pages[AuditEntry](ctx, a.conn, "read the audit log", "/audit", "entries", values)
}

func (e AuditEntry) MarshalJSON() ([]byte, error) { return encode[wire.AuditEntry](e) }

func (e *AuditEntry) UnmarshalJSON(data []byte) error { return decode[wire.AuditEntry](data, e) }
