package client_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// Every field of a spec arrives, and is returned as it was sent.
func TestATaskIsReadAsItWasRequested(t *testing.T) {
	ok := must[*client.Task](t)
	s := serve(t)
	c := s.client()
	asked := client.Spec{
		Name: "order-42", Queue: "shop", Delay: 90 * time.Minute,
		HTTP: client.HTTP{
			URL: "https://shop.example/42?a=1&b=2", Method: "PUT",
			Headers: map[string]string{"X-Shop": "7 <ä>"},
			Body:    client.JSON(json.RawMessage(`{"n":  12345678901234567890, "s": "\u00e4<"}`)),
		},
		Timeout: 5 * time.Second, ExpireAfter: client.Duration(time.Hour), Priority: client.High, OnDead: client.NoDeadNotice,
		Labels: map[string]string{"tenant": "acme", `"http":{`: `"http":{"url":`},
		Retry:  client.Retry{MaxAttempts: 3, MinBackoff: 2 * time.Second, MaxBackoff: time.Minute, MaxAge: client.Forever},
	}
	before := time.Now()
	made := ok(c.Tasks.Create(t.Context(), asked))
	if made.State != client.StateScheduled || made.ID == "" || made.Durability == "" || made.DueAt.Before(before.Add(asked.Delay)) || made.BodySize != len(asked.HTTP.Body.Bytes()) {
		t.Errorf("made %+v", made)
	}
	got := ok(c.Tasks.Get(t.Context(), "order-42"))
	if diff := cmp.Diff(asked, got.Spec, cmp.AllowUnexported(client.DeadNotice{}), cmp.Comparer(func(a, b client.Body) bool {
		return a.IsJSON() == b.IsJSON() && compact(t, a.Bytes()) == compact(t, b.Bytes())
	})); diff != "" {
		t.Errorf("asked for and read (-want +got):\n%s", diff)
	}
	if made.ETag() != got.ETag() || got.Version != 1 || got.CreatedAt.Before(before.Truncate(time.Millisecond)) {
		t.Errorf("read %+v", got)
	}
	stored, err := s.store.Get(t.Context(), task.Key{Namespace: task.DefaultNamespace, Name: "order-42"})
	if err != nil || string(stored.Request.Body) != string(asked.HTTP.Body.Bytes()) {
		t.Errorf("the body arrived as %s, %v", stored.Request.Body, err)
	}
}

func compact(t *testing.T, b []byte) string {
	var v json.RawMessage
	if len(b) == 0 {
		return ""
	}
	fatal.If(t, json.Unmarshal(b, &v))
	out, err := json.Marshal(v)
	fatal.If(t, err)
	return string(out)
}

func TestABodyArrivesByteForByte(t *testing.T) {
	ok := must[*client.Task](t)
	s := serve(t)
	c := s.client()
	for name, b := range map[string]struct {
		body   client.Body
		stored string
		media  string
	}{
		"object":      {client.JSON(map[string]any{"a": "<b>&"}), `{"a":"<b>&"}`, ""},
		"raw":         {client.JSON(json.RawMessage(" [1,\n 2 ]\n")), "[1,\n 2 ]", ""},
		"json-string": {client.JSON("text"), `"text"`, "application/json"},
		"json-null":   {client.JSON(nil), `null`, "application/json"},
		"text":        {client.Text("hä \"x\" <b>"), `hä "x" <b>`, ""},
		"empty-text":  {client.Text(""), "", ""},
		"no-utf8":     {client.Text("\xff"), "\xff", ""},
		"bytes":       {client.Bytes([]byte{0, 255}), "\x00\xff", ""},
		"none":        {client.Body{}, "", ""},
	} {
		spec := hour(name)
		spec.HTTP.Body = b.body
		ok(c.Tasks.Create(t.Context(), spec))
		check := func(how string) {
			stored, err := s.store.Get(t.Context(), task.Key{Namespace: task.DefaultNamespace, Name: name})
			if err != nil || string(stored.Request.Body) != b.stored || stored.Request.Headers["content-type"] != b.media {
				t.Errorf("%s, %s: stored %q with %v, %v", name, how, stored.Request.Body, stored.Request.Headers, err)
			}
			got := ok(c.Tasks.Get(t.Context(), name))
			if string(got.HTTP.Body.Bytes()) != b.stored {
				t.Errorf("%s, %s: read %q", name, how, got.HTTP.Body.Bytes())
			}
		}
		check("created")
		ok(c.Tasks.Patch(t.Context(), name, client.Patch{Body: client.Set(client.Bytes([]byte("other")))}))
		ok(c.Tasks.Patch(t.Context(), name, client.Patch{Body: client.Set(b.body)}))
		check("patched")
	}
	spec := hour("bad")
	spec.HTTP.Body = client.JSON(func() {})
	var e *client.Error
	if _, err := c.Tasks.Create(t.Context(), spec); !errors.As(err, &e) || e.Field != "http.body" || e.Status != 0 || client.MaybeApplied(err) {
		t.Errorf("a body that is no JSON: %v", err)
	}
}

func TestArgumentsArriveByteForByte(t *testing.T) {
	ok := must[*client.Task](t)
	s := serve(t, withHandlers)
	c := s.client()
	for name, b := range map[string]struct {
		args   client.Body
		stored string
	}{
		"object": {client.JSON(map[string]any{"a": "<b>&"}), `{"a":"<b>&"}`},
		"raw":    {client.JSON(json.RawMessage(" [1,\n 2 ]\n")), "[1,\n 2 ]"},
		"string": {client.JSON("text"), `"text"`},
		"null":   {client.JSON(nil), ""},
		"none":   {client.Body{}, ""},
	} {
		asked := client.Spec{Name: name, Delay: time.Hour, Work: client.Work{Kind: "close-order", Args: b.args}}
		if made := ok(c.Tasks.Create(t.Context(), asked)); made.Work.Kind != "close-order" || made.HTTP.URL != "" || made.BodySize != len(b.stored) {
			t.Errorf("%s: made %+v", name, made)
		}
		check := func(how, want string) {
			stored, err := s.store.Get(t.Context(), task.Key{Namespace: task.DefaultNamespace, Name: name})
			if err != nil || string(stored.Request.Body) != want || stored.Request.Kind != "close-order" {
				t.Errorf("%s, %s: stored %+v, %v", name, how, stored.Request, err)
			}
			if got := ok(c.Tasks.Get(t.Context(), name)).Work; string(got.Args.Bytes()) != want || got.Kind != "close-order" {
				t.Errorf("%s, %s: read %q", name, how, got.Args.Bytes())
			}
		}
		check("created", b.stored)
		ok(c.Tasks.Patch(t.Context(), name, client.Patch{Args: client.Set(client.JSON([]int{7}))}))
		check("patched", "[7]")
		ok(c.Tasks.Patch(t.Context(), name, client.Patch{Args: client.Set(b.args)}))
		check("patched back", b.stored)
		ok(c.Tasks.Patch(t.Context(), name, client.Patch{Args: client.Reset[client.Body]()}))
		check("reset", "")
	}
}

func TestArgumentsThatAreNoJSONAreRefused(t *testing.T) {
	c := serve(t).client()
	for _, args := range []client.Body{client.Text("x"), client.Bytes([]byte("1")), client.JSON(func() {})} {
		spec := client.Spec{Name: "a", Work: client.Work{Kind: "close-order", Args: args}}
		_, created := c.Tasks.Create(t.Context(), spec)
		_, put := c.Tasks.Put(t.Context(), spec)
		_, patched := c.Tasks.Patch(t.Context(), "a", client.Patch{Args: client.Set(args)})
		for _, err := range []error{created, put, patched} {
			var e *client.Error
			if !errors.As(err, &e) || e.Code != "bad_body" || e.Field != "work.args" || e.Status != 0 {
				t.Errorf("%+v: %v", args, err)
			}
		}
	}
}

func TestATaskHasEitherHTTPOrWork(t *testing.T) {
	c := serve(t).client()
	both := hour("a")
	both.Work.Kind = "close-order"
	for code, spec := range map[string]client.Spec{"conflict": both, "required": {Name: "a"}} {
		_, err := c.Tasks.Create(t.Context(), spec)
		_, scheduled := c.Schedules.Put(t.Context(), "a", client.ScheduleSpec{Every: time.Hour, Task: client.Spec{HTTP: spec.HTTP, Work: spec.Work}})
		for _, err := range []error{err, scheduled} {
			var e *client.Error
			if !errors.As(err, &e) || e.Code != code {
				t.Errorf("%s: %v", code, err)
			}
		}
	}
}

func TestATaskNamesTheReasonWhyItDoesNotStart(t *testing.T) {
	ok := must[*client.Task](t)
	until := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	waits := &wire.WaitsFor{Reason: "breaker", Until: wire.FormatTime(until), Detail: "its breaker is open"}
	c := serve(t, func(c *api.Config) {
		c.Engine = servertest.Engine{OnWaitsFor: func(*task.Task) *wire.WaitsFor { return waits }}
	}).client()
	ok(c.Tasks.Create(t.Context(), client.Spec{Name: "a", At: time.Now().Add(-time.Hour), Work: client.Work{Kind: "close-order"}}))
	if got := ok(c.Tasks.Get(t.Context(), "a")); got.WaitsFor != (client.WaitsFor{Reason: "breaker", Until: until, Detail: waits.Detail}) || got.State != client.StateScheduled {
		t.Errorf("%+v", got)
	}
	coming, err := c.Tasks.Upcoming(t.Context(), client.UpcomingQuery{})
	if err != nil || len(coming.Items) != 1 || coming.Items[0].Kind != "close-order" || coming.Items[0].URL != "" {
		t.Errorf("%+v, %v", coming, err)
	}
}

func TestAPatchChangesTheNamedFields(t *testing.T) {
	ok := must[*client.Task](t)
	c := serve(t).client()
	spec := hour("a")
	spec.Labels = map[string]string{"keep": "1", "change": "1", "drop": "1"}
	spec.HTTP.Headers = map[string]string{"X-Keep": "1", "X-Drop": "1"}
	spec.Retry.MaxAttempts = 5
	spec.Timeout = time.Minute
	ok(c.Tasks.Create(t.Context(), spec))
	due := time.Date(2030, 1, 2, 3, 4, 5, 123_000_000, time.UTC)
	ok(c.Tasks.Patch(t.Context(), "a", client.Patch{
		At: client.Set(due), Queue: client.Set("mail"), Priority: client.Set(client.Low), URL: client.Set("http://127.0.0.1:9/b"), Method: client.Set("DELETE"),
		Timeout: client.Reset[time.Duration](), MaxAttempts: client.Set(client.Unlimited), MaxAge: client.Set(client.Duration(3 * time.Hour)), ExpireAfter: client.Set(client.Duration(time.Second)),
		Labels: map[string]string{"change": "2", "new": "1"}, RemoveLabels: []string{"drop"}, RemoveHeaders: []string{"x-drop"},
		MinBackoff: client.Set(2 * time.Second), MaxBackoff: client.Set(4 * time.Second),
	}))
	got := ok(c.Tasks.Get(t.Context(), "a"))
	want := client.Spec{
		Name: "a", Queue: "mail", At: due, Timeout: 15 * time.Second, ExpireAfter: client.Duration(time.Second), Priority: client.Low, OnDead: client.NoDeadNotice,
		Labels: map[string]string{"keep": "1", "change": "2", "new": "1"},
		Retry:  client.Retry{MaxAttempts: client.Unlimited, MinBackoff: 2 * time.Second, MaxBackoff: 4 * time.Second, MaxAge: client.Duration(3 * time.Hour)},
		HTTP:   client.HTTP{URL: "http://127.0.0.1:9/b", Method: "DELETE", Headers: map[string]string{"X-Keep": "1"}},
	}
	if diff := cmp.Diff(want, got.Spec, cmp.AllowUnexported(client.Body{}, client.DeadNotice{})); diff != "" {
		t.Errorf("patched (-want +got):\n%s", diff)
	}
}

func TestAZeroInAPatchLeavesTheChoiceToTheQueue(t *testing.T) {
	ok := must[*client.Task](t)
	c := serve(t).client()
	settings := client.QueueSettings{
		ExpireAfter: client.Duration(time.Hour), OnDead: "http://127.0.0.1:9/dead",
		Retry: client.Retry{MaxAttempts: 7, MaxAge: client.Duration(2 * time.Hour)},
	}
	fatal.If(t, errOf(c.Queues.Put(t.Context(), "mail", settings)))
	spec := hour("a")
	spec.Queue, spec.ExpireAfter, spec.OnDead = "mail", client.Forever, client.NoDeadNotice
	spec.Retry.MaxAttempts, spec.Retry.MaxAge = client.Unlimited, client.Forever
	ok(c.Tasks.Create(t.Context(), spec))
	ok(c.Tasks.Patch(t.Context(), "a", client.Patch{
		ExpireAfter: client.Set(client.Duration(0)), OnDead: client.Set(client.DeadNotice{}),
		MaxAttempts: client.Set(client.Limit(0)), MaxAge: client.Set(client.Duration(0)),
	}))
	got := ok(c.Tasks.Get(t.Context(), "a"))
	if got.ExpireAfter != settings.ExpireAfter || got.OnDead.URL() != settings.OnDead ||
		got.Retry.MaxAttempts != settings.Retry.MaxAttempts || got.Retry.MaxAge != settings.Retry.MaxAge {
		t.Errorf("the task has %v, %v, %v, %v, want the queue's values", got.ExpireAfter, got.OnDead, got.Retry.MaxAttempts, got.Retry.MaxAge)
	}
	ok(c.Tasks.Patch(t.Context(), "a", client.Patch{
		ExpireAfter: client.Set(client.Forever), OnDead: client.Set(client.NoDeadNotice),
		MaxAttempts: client.Set(client.Unlimited), MaxAge: client.Set(client.Forever),
	}))
	got = ok(c.Tasks.Get(t.Context(), "a"))
	if got.ExpireAfter != client.Forever || got.OnDead != client.NoDeadNotice || got.Retry.MaxAttempts != client.Unlimited || got.Retry.MaxAge != client.Forever {
		t.Errorf("the task has %v, %v, %v, %v, want none", got.ExpireAfter, got.OnDead, got.Retry.MaxAttempts, got.Retry.MaxAge)
	}
}

// A call that the state does not allow fails with another error than one that a
// condition forbids.
func TestErrorsNameTheFault(t *testing.T) {
	ok := must[*client.Task](t)
	s := serve(t)
	c := s.client()
	at := hour("at")
	at.Delay, at.At = 0, time.Now().Add(time.Hour)
	old := ok(c.Tasks.Create(t.Context(), at))
	ok(c.Tasks.Patch(t.Context(), "at", client.Patch{Queue: client.Set("q")}))
	for _, k := range []struct {
		what string
		call func() error
		is   error
		code string
	}{
		{"get nobody", func() error { _, err := c.Tasks.Get(t.Context(), "nobody"); return err }, client.ErrNotFound, "not_found"},
		{"create at", func() error { _, err := c.Tasks.Create(t.Context(), at); return err }, client.ErrExists, "exists"},
		{"put at", func() error { _, err := c.Tasks.Put(t.Context(), at, client.IfNoneMatch()); return err }, client.ErrPrecondition, "precondition_failed"},
		{"patch at", func() error {
			_, err := c.Tasks.Patch(t.Context(), "at", client.Patch{Queue: client.Set("r")}, client.IfMatch(old.ETag()))
			return err
		}, client.ErrPrecondition, "precondition_failed"},
		{"touch at", func() error { _, err := c.Tasks.Touch(t.Context(), "at"); return err }, client.ErrConflict, "no_delay"},
		{"retry at", func() error { _, err := c.Tasks.Retry(t.Context(), "at"); return err }, client.ErrConflict, "task_not_dead"},
		{"create other", func() error { return errOf(c.Tasks.Create(t.Context(), hour("other"), client.Key("key"))) }, nil, ""},
		{"create another", func() error { return errOf(c.Tasks.Create(t.Context(), hour("another"), client.Key("key"))) }, client.ErrKeyReused, "idempotency_key_reused"},
		{"cancel ..", func() error { return errOf(c.Tasks.Cancel(t.Context(), "..")) }, nil, "bad_name"},
		{"get ", func() error { _, err := c.Tasks.Get(t.Context(), ""); return err }, nil, "bad_name"},
		{"get a/b", func() error { _, err := c.Tasks.Get(t.Context(), "a/b"); return err }, nil, "bad_name"},
	} {
		err := k.call()
		if k.code == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		var e *client.Error
		if !errors.As(err, &e) || e.Code != k.code || e.Op != k.what || e.Detail == "" || e.MaybeApplied {
			t.Errorf("%s: %#v", k.what, err)
		}
		if k.is != nil && !errors.Is(err, k.is) {
			t.Errorf("%s: %v is not %v", k.what, err, k.is)
		}
		if errors.Is(err, client.ErrFull) || k.code != "not_found" && errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s: %v is what it is not", k.what, err)
		}
	}
	var e *client.Error
	if _, err := c.Tasks.Create(t.Context(), client.Spec{HTTP: client.HTTP{URL: "ftp://x/"}}); !errors.As(err, &e) || e.Field != "http.url" || err.Error() != "create a task: http.url: must begin with http:// or https://" {
		t.Errorf("a bad URL: %v", err)
	}
}

func TestACancelReportsWhetherAnAttemptMayBeUnderWay(t *testing.T) {
	ok := must[*client.Task](t)
	s := serve(t)
	c := s.client()
	ok(c.Tasks.Create(t.Context(), hour("waits")))
	if got, err := c.Tasks.Cancel(t.Context(), "waits"); err != nil || got.UnderWay || got.Task.State != client.StateCancelled {
		t.Errorf("a waiting task: %+v, %v", got, err)
	}
	now := hour("runs")
	now.Delay = 0
	ok(c.Tasks.Create(t.Context(), now))
	settle := s.claim("runs")
	if got, err := c.Tasks.Cancel(t.Context(), "runs"); err != nil || !got.UnderWay || got.Task.State != client.StateRunning || !got.Task.CancelRequested {
		t.Errorf("a running task: %+v, %v", got, err)
	}
	settle(task.Success)
	if _, err := c.Tasks.Cancel(t.Context(), "runs"); !errors.Is(err, client.ErrConflict) {
		t.Errorf("a delivered task: %v", err)
	}
}

func TestAKeyMakesOneTask(t *testing.T) {
	ok := must[*client.Task](t)
	c := serve(t).client()
	nameless := hour("")
	first := ok(c.Tasks.Create(t.Context(), nameless, client.Key("key")))
	again := ok(c.Tasks.Create(t.Context(), nameless, client.Key("key")))
	if first.ID != again.ID || first.Name != again.Name || first.Name == first.ID {
		t.Errorf("%s (%s) and %s", first.ID, first.Name, again.ID)
	}
	if other := ok(c.Tasks.Create(t.Context(), nameless)); other.ID == first.ID {
		t.Error("two creates share a key")
	}
	p := client.Publication{URL: "http://127.0.0.1:9/", Name: "p", Delay: time.Hour, Body: []byte("x")}
	one := ok(c.Tasks.Publish(t.Context(), p, client.Key("other")))
	if two := ok(c.Tasks.Publish(t.Context(), p, client.Key("other"))); one.ID != two.ID {
		t.Errorf("published %s and %s", one.ID, two.ID)
	}
}

func TestAPublicationIsSentUnchanged(t *testing.T) {
	ok := must[*client.Task](t)
	s := serve(t)
	c := s.client(client.Options{UserAgent: "program", Retry: quick})
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	ok(c.Tasks.Publish(t.Context(), client.Publication{
		URL: "http://127.0.0.1:9/?a=b&c=d", At: at, Name: "p", Queue: "q", MaxAttempts: 1,
		Header: map[string][]string{"Content-Type": {"text/csv"}, "x-shop": {"7"}, "authorization": {"secret"}, "Foliot-Task": {"x"}},
		Body:   []byte("a,b\n"),
	}))
	got := ok(c.Tasks.Get(t.Context(), "p"))
	want := client.Spec{
		Name: "p", Queue: "q", At: at, Timeout: 15 * time.Second, Priority: client.Normal, ExpireAfter: client.Forever, OnDead: client.NoDeadNotice,
		Retry: client.Retry{MaxAttempts: 1, MinBackoff: time.Second, MaxBackoff: time.Hour, MaxAge: client.Duration(24 * time.Hour)},
		HTTP: client.HTTP{
			URL: "http://127.0.0.1:9/?a=b&c=d", Method: "POST", Body: client.Text("a,b\n"),
			Headers: map[string]string{"Content-Type": "text/csv", "X-Shop": "7"},
		},
	}
	if diff := cmp.Diff(want, got.Spec, cmp.AllowUnexported(client.Body{}, client.DeadNotice{})); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

// A task is never early: fractions of a millisecond are rounded up, so they
// must arrive whole.
func TestTimesKeepTheirFractions(t *testing.T) {
	ok := must[*client.Task](t)
	c := serve(t).client()
	at := time.Date(2030, 1, 1, 0, 0, 0, 1, time.FixedZone("", 3600))
	spec := hour("a")
	spec.Delay, spec.At = 0, at
	if got := ok(c.Tasks.Create(t.Context(), spec)); got.DueAt.Before(at) || got.DueAt.Sub(at) > time.Millisecond {
		t.Errorf("asked for %v, due %v", at, got.DueAt)
	}
	if got := ok(c.Tasks.Patch(t.Context(), "a", client.Patch{At: client.Set(at.Add(time.Hour))})); got.DueAt.Before(at.Add(time.Hour)) {
		t.Errorf("asked for %v, due %v", at.Add(time.Hour), got.DueAt)
	}
}

func TestChangesOfATask(t *testing.T) {
	ok := must[*client.Task](t)
	s := serve(t)
	c := s.client()
	ok(c.Tasks.Create(t.Context(), hour("a")))
	if got := ok(c.Tasks.Touch(t.Context(), "a")); got.Version != 2 {
		t.Errorf("touched: %+v", got)
	}
	got := ok(c.Tasks.Run(t.Context(), "a", client.IfMatch("*")))
	if time.Until(got.DueAt) > time.Second {
		t.Errorf("due %v", got.DueAt)
	}
	s.claim("a")(task.Refusal)
	dead := ok(c.Tasks.Get(t.Context(), "a"))
	if dead.State != client.StateDead || len(dead.Attempts) != 1 || dead.Attempts[0].Status != 204 || dead.Attempts[0].Number != 1 || dead.FinishedAt.IsZero() {
		t.Errorf("dead: %+v", dead)
	}
	if again := ok(c.Tasks.Retry(t.Context(), "a")); again.State != client.StateScheduled || again.ID != dead.ID {
		t.Errorf("retried: %+v", again)
	}
	put := ok(c.Tasks.Put(t.Context(), hour("a"), client.IfMatch(ok(c.Tasks.Get(t.Context(), "a")).ETag())))
	if put.ID == dead.ID {
		t.Error("a put keeps the id")
	}
}
