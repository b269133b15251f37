package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// object writes the members of a JSON object in the form of Encode. The replies
// to creates and to batches and the lists of tasks are its users: encoding/json takes several
// times as long for such a struct, because most of its fields are absent.
type object struct {
	b     []byte
	first bool
}

func beginObject(b []byte) object { return object{append(b, '{'), true} }

func (o *object) end() []byte { return append(o.b, '}') }

func (o *object) key(name string) {
	if !o.first {
		o.b = append(o.b, ',')
	}
	o.first = false
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

func (o *object) text(name, value string) {
	o.key(name)
	o.b = appendText(o.b, value)
}

// optional writes a string unless it is empty.
func (o *object) optional(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

func (o *object) optionalText(name string, value *string) {
	if value != nil {
		o.text(name, *value)
	}
}

func (o *object) integer(name string, value int64) {
	o.key(name)
	o.b = strconv.AppendInt(o.b, value, 10)
}

func (o *object) optionalInteger(name string, value int) {
	if value != 0 {
		o.integer(name, int64(value))
	}
}

// flag writes true, or nothing.
func (o *object) flag(name string, value bool) {
	if value {
		o.key(name)
		o.b = append(o.b, "true"...)
	}
}

// texts writes a map with sorted keys, unless it is empty.
func (o *object) texts(name string, m map[string]string) {
	if len(m) == 0 {
		return
	}
	o.key(name)
	inner := beginObject(o.b)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !inner.first {
			inner.b = append(inner.b, ',')
		}
		inner.first = false
		inner.b = append(appendText(inner.b, k), ':')
		inner.b = appendText(inner.b, m[k])
	}
	o.b = inner.end()
}

// appendText appends s as a JSON string. Characters that are special in HTML stay
// as they are.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendEscaped(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// appendEscaped is appendText for a string that encoding/json must escape.
func appendEscaped(b []byte, s string) []byte {
	w := appender{b}
	enc := json.NewEncoder(&w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)               // encoding a string cannot fail
	return w.b[:len(w.b)-len("\n")] // of the encoder
}

// appender is a writer that appends.
type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

func (t *Task) appendTo(b []byte) []byte {
	o := beginObject(b)
	t.TaskInput.members(&o)
	o.text("id", t.ID)
	o.text("state", t.State)
	if w := t.WaitsFor; w != nil {
		o.key("waits_for")
		waits := beginObject(o.b)
		waits.text("reason", w.Reason)
		waits.optional("until", w.Until)
		waits.text("detail", w.Detail)
		o.b = waits.end()
	}
	o.optional("reason", t.Reason)
	o.text("due_at", t.DueAt)
	o.optional("next_at", t.NextAt)
	o.key("version")
	o.b = strconv.AppendUint(o.b, t.Version, 10)
	o.text("created_at", t.CreatedAt)
	o.optional("finished_at", t.FinishedAt)
	o.optional("created_by", t.CreatedBy)
	o.optional("changed_at", t.ChangedAt)
	o.optional("changed_by", t.ChangedBy)
	o.optional("changed_action", t.ChangedAction)
	o.flag("cancel_requested", t.CancelRequested)
	o.flag("under_way", t.UnderWay)
	o.flag("already", t.Already)
	o.optionalInteger("body_size", t.BodySize)
	o.optionalInteger("reclaims", t.Reclaims)
	o.optionalInteger("attempts_started", t.AttemptsStarted)
	o.optional("schedule", t.Schedule)
	o.optional("instant", t.Instant)
	o.key("attempts")
	o.b = appendAttempts(o.b, t.Attempts)
	o.flag("hidden", t.Hidden)
	o.optional("durability", t.Durability)
	return o.end()
}

func (in *TaskInput) appendTo(b []byte) []byte {
	o := beginObject(b)
	in.members(&o)
	return o.end()
}

func (in *TaskInput) members(o *object) {
	o.optional("name", in.Name)
	o.optional("queue", in.Queue)
	o.optional("at", in.At)
	o.optional("delay", in.Delay)
	if !in.HTTP.IsZero() {
		o.key("http")
		o.b = in.HTTP.appendTo(o.b)
	}
	if !in.Work.IsZero() {
		o.key("work")
		o.b = in.Work.appendTo(o.b)
	}
	o.optional("timeout", in.Timeout)
	o.optional("expire_after", in.ExpireAfter)
	o.optional("priority", in.Priority)
	o.texts("labels", in.Labels)
	if in.Retry != nil {
		o.key("retry")
		o.b = in.Retry.appendTo(o.b)
	}
	o.optionalText("on_dead", in.OnDead)
	o.optional("traceparent", in.Traceparent)
	o.optional("first_attempt_at", in.FirstAttemptAt)
}

// appendTo appends h. The body stays byte for byte as it is.
func (h *HTTPInput) appendTo(b []byte) []byte {
	o := beginObject(b)
	o.text("url", h.URL)
	o.optional("method", h.Method)
	o.texts("headers", h.Headers)
	if len(h.Body) > 0 {
		o.key("body")
		o.b = append(o.b, h.Body...)
	}
	o.optionalText("body_base64", h.BodyBase64)
	return o.end()
}

// appendTo appends w. The arguments stay byte for byte as they are.
func (w *WorkInput) appendTo(b []byte) []byte {
	o := beginObject(b)
	o.text("kind", w.Kind)
	if len(w.Args) > 0 {
		o.key("args")
		o.b = append(o.b, w.Args...)
	}
	return o.end()
}

func (r *Retry) appendTo(b []byte) []byte {
	o := beginObject(b)
	if r.MaxAttempts != nil {
		o.integer("max_attempts", int64(*r.MaxAttempts))
	}
	o.optional("min_backoff", r.MinBackoff)
	o.optional("max_backoff", r.MaxBackoff)
	o.optional("max_age", r.MaxAge)
	return o.end()
}

func (r *BatchReply) appendTo(b []byte) []byte {
	o := beginObject(b)
	o.key("results")
	if r.Results == nil {
		o.b = append(o.b, "null"...)
	} else {
		o.b = appendList(o.b, len(r.Results), func(b []byte, i int) []byte { return r.Results[i].appendTo(b) })
	}
	o.optional("durability", r.Durability)
	return o.end()
}

func (r *BatchResult) appendTo(b []byte) []byte {
	o := beginObject(b)
	o.integer("status", int64(r.Status))
	o.optional("name", r.Name)
	o.optional("id", r.ID)
	o.optional("state", r.State)
	o.optional("due_at", r.DueAt)
	o.optional("code", r.Code)
	o.optional("detail", r.Detail)
	o.optional("field", r.Field)
	o.optional("suggestion", r.Suggestion)
	if len(r.Allowed) > 0 {
		o.key("allowed")
		o.b = appendList(o.b, len(r.Allowed), func(b []byte, i int) []byte { return appendText(b, r.Allowed[i]) })
	}
	if r.Limit != nil {
		o.key("limit")
		limit, _ := json.Marshal(*r.Limit) // a limit is finite
		o.b = append(o.b, limit...)
	}
	return o.end()
}

func appendAttempts(b []byte, all []Attempt) []byte {
	if all == nil {
		return append(b, "null"...)
	}
	return appendList(b, len(all), func(b []byte, i int) []byte {
		a := &all[i]
		o := beginObject(b)
		o.integer("number", int64(a.Number))
		o.text("started_at", a.StartedAt)
		o.integer("status", int64(a.Status))
		o.optional("error", a.Error)
		o.optional("reply", a.Reply)
		o.key("latency_ms")
		latency, _ := json.Marshal(a.LatencyMS) // a number of milliseconds is finite
		o.b = append(o.b, latency...)
		o.integer("late_ms", a.LateMS)
		o.integer("waited_ms", a.WaitedMS)
		return o.end()
	})
}

// appendList appends an array of n items. add appends the item with an index.
func appendList(b []byte, n int, add func(b []byte, i int) []byte) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = add(b, i)
	}
	return append(b, ']')
}
