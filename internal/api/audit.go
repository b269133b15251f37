package api

import (
	"net/http"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// actions are the values of AuditEntry.Action.
var actions = []string{
	"task.create", "task.replace", "task.patch", "task.touch", "task.run", "task.retry", "task.cancel", "task.purge",
	"schedule.put", "schedule.pause", "schedule.resume", "schedule.delete", "schedule.check",
	"queue.put", "queue.delete", "queue.pause", "queue.resume", "queue.purge", "queue.purged",
	"namespace.put", "namespace.delete", "token.create", "token.revoke", "secret.create", "secret.delete",
	"node.drain", "node.undrain",
	settings.ActionBackup, settings.ActionTokenRefused, settings.ActionScopeRefused, settings.ActionDropped,
}

var auditParams = []param{
	{name: "action", about: "Only entries of this action.", enum: actions},
	{name: "target", about: "Only entries about this name or id."},
	{name: "by", about: "Only changes by this actor: token:<id>, anonymous, upkeep."},
	{name: "from", about: "Only entries at this time or later.", format: "date-time"},
	{name: "until", about: "Only entries before this time.", format: "date-time"},
}

func (s *Server) audit(w http.ResponseWriter, r *request) error {
	f, err := r.auditFilter()
	if err != nil {
		return err
	}
	n, err := limit(r.query)
	if err != nil {
		return err
	}
	var before uint64
	if r.query.Has("cursor") {
		if before, err = s.cursors.open(f.Namespace, r.query.Get("cursor")); err != nil {
			return err
		}
	}
	page, err := s.store.Audit(r.Context(), f, before, n)
	if err != nil {
		return err
	}
	return s.writeItems(w, "entries", len(page.Entries), func(i int) any { return showEntry(page.Entries[i]) }, listEnd{Next: s.cursors.seal(f.Namespace, page.Next)})
}

// auditFilter reads the filter of the audit log. It selects the namespace of r.
// If an operator named none, it selects all namespaces and the server itself.
func (r *request) auditFilter() (f settings.AuditFilter, err error) {
	q := r.query
	f = settings.AuditFilter{Action: q.Get("action"), Target: q.Get("target"), By: q.Get("by")}
	if !r.all {
		f.Namespace = r.namespace
	}
	if err := oneOf(q, "action", actions); err != nil {
		return f, err
	}
	for _, name := range []string{"target", "by"} {
		if q.Has(name) && q.Get(name) == "" {
			return f, refuse("bad_parameter", name, "must not be empty: leave it out")
		}
	}
	if q.Has("from") {
		t, err := parseTime("from", q.Get("from"))
		if err != nil {
			return f, err
		}
		f.From = task.CeilMillis(t)
	}
	f.From = max(f.From, r.since())
	if q.Has("until") {
		t, err := parseTime("until", q.Get("until"))
		if err != nil {
			return f, err
		}
		f.Until = max(1, task.CeilMillis(t)) // 0 means no bound; no entry is from before 1970
	}
	return f, nil
}

func showEntry(e settings.AuditEntry) wire.AuditEntry {
	return wire.AuditEntry{
		At: showTime(e.At), By: e.By, Addr: e.Addr, Namespace: e.Namespace,
		Action: e.Action, Target: e.Target, ID: e.ID, Version: e.Version, Detail: e.Detail,
	}
}
