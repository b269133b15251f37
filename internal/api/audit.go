package api

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

var actions = []string{
	"task.patch", "task.touch", "task.run", "task.retry", "task.cancel",
	settings.ActionCancelMany, settings.ActionRetryMany, settings.ActionMoveMany,
	"schedule.put", "schedule.pause", "schedule.resume", "schedule.delete", settings.ActionBackfill,
	"queue.put", "queue.delete", "queue.pause", "queue.resume", "queue.purge", "queue.purged",
	"namespace.put", "namespace.delete", "token.create", "token.revoke", "secret.create", "secret.delete",
	"node.drain", "node.undrain",
	settings.ActionBackup, settings.ActionTokenRefused, settings.ActionScopeRefused,
}

var auditParams = []param{
	{name: "action", about: "Only entries of this action.", enum: actions},
	{name: "target", about: "Only entries about this name or id."},
	{name: "by", about: "Only changes by this actor: token:<id>, with or without the label, anonymous, upkeep."},
	{name: "from", about: "Only entries at this time or later.", format: "date-time"},
	{name: "until", about: "Only entries before this time.", format: "date-time"},
}

func (s *Server) audit(w http.ResponseWriter, r *request) error {
	f := r.auditFilter()
	var before uint64
	var err error
	if r.query.Has("cursor") {
		if before, err = s.cursors.open(f.Namespace, r.query.Get("cursor")); err != nil {
			return err
		}
	}
	page, err := s.store.Audit(r.Context(), f, before, r.query.number(limitParam, defaultLimit))
	if err != nil {
		return err
	}
	return s.writeItems(w, "entries", len(page.Entries), func(i int) any {
		e := &page.Entries[i]
		return wire.AuditEntry{
			At: showTime(e.At), By: e.By, Addr: e.Addr, Namespace: e.Namespace,
			Action: e.Action, Target: e.Target, ID: e.ID, Version: e.Version, Detail: e.Detail,
		}
	}, s.cursors.seal(f.Namespace, page.Next))
}

// auditFilter reads the filter of the audit log, which selects the namespace of
// r, or all namespaces and the server itself if an operator named none.
func (r *request) auditFilter() settings.AuditFilter {
	q := r.query
	f := settings.AuditFilter{Action: q.Get("action"), Target: q.Get("target"), By: q.Get("by")}
	if !r.all {
		f.Namespace = r.namespace
	}
	f.From = r.since()
	if t, given := q.time("from"); given {
		f.From = max(f.From, task.CeilMillis(t))
	}
	if t, given := q.time("until"); given {
		f.Until = max(1, task.CeilMillis(t)) // 0 means no bound; no entry is from before 1970
	}
	return f
}

// record adds entries about tasks to the audit log, at most as often as the
// namespace may edit its settings. No person is faster than that, and a program
// that claims to be one must not push out other entries.
func (s *Server) record(r *request, entries ...settings.AuditEntry) error {
	taken, _ := s.gate.Take(r.quotas(), settings.EditRate, len(entries), time.Now())
	return s.store.note(r.Context(), s.now(), entries[:taken]...)
}

// recordMany records a change of several tasks, if it changed any.
func (s *Server) recordMany(r *request, action, target, detail string, changed int) error {
	if changed == 0 {
		return nil
	}
	e := r.actor().Entry(s.now(), r.namespace, action, target)
	e.Detail = detail
	return s.record(r, e)
}

func filterText(r *request) string {
	const most = 500
	text, _ := url.QueryUnescape(r.query.Encode()) // Encode escapes correctly
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// client returns the tool of a person that sent r: see settings.Actor. The command
// line has its user agent, but no browser lets a page set that, so the page of the
// server has a header.
func client(r *http.Request) string {
	switch {
	case r.Header.Get(wire.ClientHeader) == "page":
		return "page"
	case strings.HasPrefix(r.UserAgent(), "foliot/"):
		return "command line"
	}
	return ""
}
