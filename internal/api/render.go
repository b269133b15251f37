package api

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/timespan"
	"github.com/foliot/foliot/internal/wire"
)

// reply sends v as JSON, and returns nil.
func (s *Server) reply(w http.ResponseWriter, r *request, status int, v any) error {
	s.write(r.Context(), w, jsonType, status, v)
	return nil
}

func (s *Server) replyRecord(w http.ResponseWriter, r *request, status int, shown any, etag string) error {
	w.Header().Set("ETag", `"`+etag+`"`)
	return s.reply(w, r, status, shown)
}

func (s *Server) replyChange(w http.ResponseWriter, r *request, status int, done *store.Reply) error {
	if status == http.StatusCreated {
		w.Header().Set("Location", tasksPath+"/"+done.Task.Name)
	}
	return s.replyRecord(w, r, status, s.showChange(r, done), done.Task.ETag())
}

// showChange returns the task of a change, without the body, which the client sent
// or did not request.
func (s *Server) showChange(r *request, done *store.Reply) *wire.Task {
	shown := s.show(r, done.Task.WithoutBody())
	shown.Durability = cmp.Or(done.Durability, s.store.Standing().Durability)
	shown.UnderWay, shown.Already = done.UnderWay, done.Already
	return shown
}

// fillTask sets the fields that show does not set itself: lists have many tasks, so
// show sets those that most tasks have.
var fillTask = showing[wire.Task, task.Task](
	"Name", "Queue", "Delay", "Timeout", "ExpireAfter", "Priority", "Labels", "Retry", "OnDead", "FirstAttemptAt",
	"ID", "State", "Reason", "Version", "CreatedAt", "CreatedBy", "ChangedAt", "ChangedBy", "ChangedAction",
)

// show returns t as the API shows it, with its body if it is loaded.
func (s *Server) show(r *request, t *task.Task) *wire.Task {
	shown := &wire.Task{
		TaskInput: wire.TaskInput{
			Name:     t.Name,
			Queue:    t.Queue,
			Timeout:  timespan.Text(t.Timeout),
			Priority: t.Priority.String(),
			Labels:   t.Labels,
			Retry:    showRetry(t.Retry),
		},
		ID:              t.ID,
		State:           t.State.String(),
		Reason:          t.EndReason(),
		DueAt:           showTime(t.OriginalDue),
		Version:         t.Version,
		CreatedAt:       showTime(t.CreatedAt),
		Authors:         r.showAuthors(t),
		BodySize:        t.Request.BodySize,
		AttemptsStarted: t.Attempts,
		Attempts:        showAttempts(r, t.History),
	}
	fillTask(shown, t)
	if t.Relative {
		shown.Delay = timespan.Text(t.Delay)
	} else {
		shown.At = showTime(t.OriginalDue)
	}
	if t.ExpireAfter != 0 {
		shown.ExpireAfter = timespan.Text(t.ExpireAfter)
	}
	if t.OnDead != "" {
		shown.OnDead = &t.OnDead
	}
	shown.NextAt, shown.Traceparent = showOptional(t.NextAttempt()), t.Trace
	shown.Schedule, shown.Instant = showOrigin(t.Name)
	if s.cfg.Engine != nil {
		shown.WaitsFor = s.cfg.Engine.WaitsFor(t)
	}
	if holdOf(r.settings, s.now(), t) != settings.NotHeld {
		shown.State = held
	}
	showRequest(&shown.HTTP, &shown.Work, t.Request, r.blind())
	if r.blind() {
		shown.Hidden = true
		for i := range shown.Attempts {
			a := &shown.Attempts[i]
			a.Reply, a.Error = "", errorWithoutReply(t.Request.Destination, a.Status, a.Error)
		}
	}
	return shown
}

func (c *caller) showAuthors(t *task.Task) wire.Authors {
	return wire.Authors{
		CreatedBy: c.settings.Author(t.CreatedBy),
		ChangedAt: showOptional(t.ChangedAt), ChangedBy: c.settings.Author(t.ChangedBy), ChangedAction: t.ChangedAction,
	}
}

// showRequest sets the request of a task, or its work, with the body if it is
// loaded. A blind caller sees neither the headers nor the body.
func showRequest(http *wire.HTTPInput, work *wire.WorkInput, r task.Request, blind bool) {
	http.URL, http.Method, work.Kind = r.URL, r.Method, r.Kind
	switch {
	case blind:
	case r.Kind != "":
		work.Args = bytes.TrimSpace(r.Body)
	default:
		http.Headers = r.Headers
		showBody(http, r)
	}
}

// holdOf returns the reason that a due task is not claimed.
func holdOf(s *settings.Settings, now task.Millis, t *task.Task) settings.Hold {
	if t.State != task.Scheduled {
		return settings.NotHeld
	}
	return s.Hold(t.Lane(), now)
}

// showBody sets the body as it was given, and the bytes as well where no JSON
// value can show it: white space around JSON, or a JSON string or null as a
// body.
func showBody(h *wire.HTTPInput, r task.Request) {
	if r.Body == nil && r.BodySize > 0 { // not loaded
		return
	}
	switch kind := r.BodyKind; {
	case kind == task.BinaryBody, kind == task.JSONBody && !utf8.Valid(r.Body): // encoding/json accepts such JSON
		s := base64.StdEncoding.EncodeToString(r.Body)
		h.BodyBase64 = &s
	case kind == task.TextBody:
		h.Body, _ = json.Marshal(string(r.Body)) // marshalling a string cannot fail
	case kind == task.JSONBody:
		h.Body = bytes.TrimSpace(r.Body)
		if len(h.Body) < len(r.Body) || bytes.HasPrefix(h.Body, []byte{'"'}) || string(h.Body) == "null" {
			s := base64.StdEncoding.EncodeToString(r.Body)
			h.BodyBase64 = &s
		}
	}
}

func showRetry(r task.Retry) *wire.Retry {
	return &wire.Retry{
		MaxAttempts: &r.MaxAttempts,
		MinBackoff:  timespan.Text(r.MinBackoff),
		MaxBackoff:  timespan.Text(r.MaxBackoff),
		MaxAge:      timespan.Text(r.MaxAge),
	}
}

func showAttempts(r *request, history []task.Attempt) []wire.Attempt {
	shown := make([]wire.Attempt, len(history))
	for i, a := range history {
		shown[i] = wire.Attempt{
			Number:    a.Number,
			StartedAt: showTime(a.StartedAt),
			Status:    a.Status,
			Error:     showError(r, a),
			Reply:     a.Reply,
			LatencyMS: wire.MS(a.Latency),
			LateMS:    wire.MS(a.Late),
			WaitedMS:  wire.MS(a.Waited),
		}
	}
	return shown
}

// handlerFailed replaces the error of a handler for callers who must not see
// payloads.
const handlerFailed = "the handler returned an error"

// errorWithoutReply returns the error of an attempt without texts of the
// receiver. An error after a reply can quote the reply, for example the target of
// a redirect, so only the status remains; an error of a handler can quote
// anything.
func errorWithoutReply(destination string, status int, text string) string {
	switch {
	case text != "" && task.KindOf(destination) != "":
		return handlerFailed
	case status != 0:
		return ""
	case strings.HasPrefix(text, task.UnreadableReply):
		return task.UnreadableReply
	}
	return text
}

// showError returns the error of an attempt, as far as the caller may see it. A
// namespace's own token must not see addresses of the internal network.
func showError(r *request, a task.Attempt) string {
	if r.operator && a.Detail != "" {
		return a.Error + " (" + a.Detail + ")"
	}
	return a.Error
}

func showTime(m task.Millis) string { return wire.FormatTime(m.Time()) }

func showOptional(m task.Millis) string {
	if m == 0 {
		return ""
	}
	return showTime(m)
}
