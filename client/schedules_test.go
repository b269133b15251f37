package client_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// minutely is the smallest valid schedule.
func minutely() client.ScheduleSpec {
	return client.ScheduleSpec{Every: time.Minute, Start: midnight, Task: client.Spec{HTTP: client.HTTP{URL: "http://127.0.0.1:9/"}}}
}

// Every field of a spec arrives, and is returned as it was sent.
func TestAScheduleIsReadAsItWasRequested(t *testing.T) {
	ok := must[*client.Schedule](t)
	c := serve(t).client()
	asked := client.ScheduleSpec{
		Cron: "30 2 * * MON-FRI", TimeZone: "Europe/Berlin", DSTGap: "skip", DSTOverlap: "both",
		Start: time.Now().Add(time.Hour).UTC().Truncate(time.Second), End: time.Now().Add(10_000 * time.Hour).UTC().Truncate(time.Second), MaxRuns: 9, Jitter: time.Minute,
		Missed: client.FireAll, CatchupWindow: new(time.Hour), CatchupLimit: 7, Overlap: client.BufferOne, Paused: new(true),
		Task: client.Spec{
			Queue: "shop", Timeout: 5 * time.Second, ExpireAfter: client.Duration(time.Hour), Priority: client.High, OnDead: client.NotifyURL("http://127.0.0.1:9/dead"),
			HTTP:   client.HTTP{URL: "https://shop.example/?a=1&b=2", Method: "PUT", Headers: map[string]string{"X-Shop": "7 <ä>"}, Body: client.Text("hello")},
			Labels: map[string]string{"tenant": "acme", `"http":{`: `"http":{"url":`},
			Retry:  client.Retry{MaxAttempts: 3, MinBackoff: 2 * time.Second, MaxBackoff: time.Minute, MaxAge: client.Forever},
		},
	}
	made := ok(c.Schedules.Put(t.Context(), "nightly", asked, client.IfNoneMatch()))
	if made.Name != "nightly" || made.State != client.SchedulePaused || made.ID == "" || made.Version != 1 || made.BodySize != 5 || made.Durability == "" || made.Words == "" || made.PausedAt.IsZero() || !made.NextAt.IsZero() {
		t.Errorf("made %+v", made)
	}
	got := ok(c.Schedules.Get(t.Context(), "nightly"))
	bodies := cmp.Comparer(func(a, b client.Body) bool { return a.IsText() == b.IsText() && string(a.Bytes()) == string(b.Bytes()) })
	if diff := cmp.Diff(asked, got.ScheduleSpec, bodies, cmp.AllowUnexported(client.DeadNotice{})); diff != "" || got.ETag() != made.ETag() {
		t.Errorf("asked for and read (-want +got):\n%s", diff)
	}
	got.CatchupWindow = new(time.Duration)
	if again := ok(c.Schedules.Put(t.Context(), "nightly", got.ScheduleSpec, client.IfMatch(got.ETag()))); again.ID != made.ID || again.Version != 2 || *again.CatchupWindow != 0 {
		t.Errorf("put again: %+v", again)
	}
	if _, err := c.Schedules.Put(t.Context(), "nightly", asked, client.IfMatch(made.ETag())); !errors.Is(err, client.ErrPrecondition) {
		t.Error(err)
	}
}

func TestTheLifeOfASchedule(t *testing.T) {
	ok := must[*client.Schedule](t)
	s := serve(t)
	c := s.client()
	before := time.Now()
	made := ok(c.Schedules.Put(t.Context(), "a", minutely()))
	if made.State != client.ScheduleActive || made.NextAt.Before(before) || made.Task.HTTP.Method != "POST" || *made.Paused {
		t.Errorf("%+v", made)
	}
	for range 2 {
		if got := ok(c.Schedules.Pause(t.Context(), "a")); got.State != client.SchedulePaused {
			t.Errorf("%+v", got)
		}
	}
	if got := ok(c.Schedules.Resume(t.Context(), "a", client.IfMatch("*"))); got.State != client.ScheduleActive {
		t.Errorf("%+v", got)
	}
	labelled := minutely()
	labelled.Task.Labels, labelled.Task.HTTP.Body = map[string]string{"k": "v"}, client.Text("x")
	ok(c.Schedules.Put(t.Context(), "b", labelled))
	if list := all(t, c.Schedules.List(t.Context(), client.ScheduleQuery{})); len(list) != 2 || list[0].Name != "a" || !list[1].Task.HTTP.Body.IsZero() {
		t.Errorf("%v", list)
	}
	if list := all(t, c.Schedules.List(t.Context(), client.ScheduleQuery{Labels: map[string]string{"k": "v"}, Bodies: true})); len(list) != 1 || string(list[0].Task.HTTP.Body.Bytes()) != "x" {
		t.Errorf("%v", list)
	}
	fires := []task.Fire{{Key: task.ScheduleKey(task.DefaultNamespace, "a")}}
	at := task.FloorMillis(made.NextAt.Add(24 * time.Hour)) // a day late
	if replies, err := s.store.Transit(t.Context(), at, store.Fires(fires)); err != nil || replies[0].Err != nil {
		t.Fatal(err, replies)
	}
	if got := ok(c.Schedules.Get(t.Context(), "a")); got.Runs != 1 || got.LastAt.IsZero() || got.LastSkipped == nil || got.LastSkipped.Why == "" || !got.LastSkipped.Until.Before(got.LastAt) {
		t.Errorf("%+v", got)
	}
	if got := ok(c.Schedules.Delete(t.Context(), "a")); got.ID != made.ID {
		t.Errorf("%+v", got)
	}
	if _, err := c.Schedules.Get(t.Context(), "a"); !errors.Is(err, client.ErrNotFound) || !strings.HasPrefix(err.Error(), "get schedule a: ") {
		t.Error(err)
	}
	if _, err := c.Schedules.Get(t.Context(), ".."); err == nil || client.MaybeApplied(err) {
		t.Error(err)
	}
}

func TestTriggerAndBackfillCreateTasks(t *testing.T) {
	c := serve(t).client()
	asked := minutely()
	asked.Cron, asked.Every, asked.Start, asked.TimeZone = "0 12 * * *", 0, time.Time{}, "Asia/Tokyo"
	must[*client.Schedule](t)(c.Schedules.Put(t.Context(), "noon", asked))
	first := must[*client.Task](t)(c.Schedules.Trigger(t.Context(), "noon", client.Key("order-42")))
	again := must[*client.Task](t)(c.Schedules.Trigger(t.Context(), "noon", client.Key("order-42")))
	other := must[*client.Task](t)(c.Schedules.Trigger(t.Context(), "noon"))
	if first.ID != again.ID || other.ID == first.ID || first.Schedule != "noon" || !first.Instant.IsZero() {
		t.Errorf("%+v, %+v, %+v", first, again, other)
	}
	from, until := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for _, want := range []client.BackfillResult{{Created: 4, Instants: 4, Durability: "memory"}, {Existing: 4, Instants: 4, Durability: "memory"}} {
		if got, err := c.Schedules.Backfill(t.Context(), "noon", from, until); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
	var instants []string
	for _, made := range all(t, c.Tasks.List(t.Context(), client.Query{})) {
		if !made.Instant.IsZero() {
			instants = append(instants, made.Instant.Format(time.RFC3339))
		}
	}
	if got := strings.Join(instants, " "); got != "2026-01-01T03:00:00Z 2026-01-02T03:00:00Z 2026-01-03T03:00:00Z 2026-01-04T03:00:00Z" {
		t.Errorf("the instants %s", got)
	}
	preview, err := c.Schedules.Preview(t.Context(), "noon", from, 2)
	if err != nil || len(preview) != 2 || !preview[1].At.Equal(from.Add(27*time.Hour)) || preview[0].Local.Format(time.RFC3339) != "2026-01-01T12:00:00+09:00" {
		t.Errorf("%v, %v", preview, err)
	}
	if preview, err = c.Schedules.Preview(t.Context(), "noon", time.Time{}, 0); err != nil || len(preview) != 10 || preview[0].At.Before(time.Now()) {
		t.Errorf("%v, %v", preview, err)
	}
	_, err = c.Schedules.Backfill(t.Context(), "noon", from.AddDate(-9, 0, 0), until)
	var e *client.Error
	if !errors.As(err, &e) || e.Code != "too_many_instants" || e.Field != "until" {
		t.Error(err)
	}
}

func TestSchedulesHonourPreconditions(t *testing.T) {
	c := serve(t).client()
	seen := must[*client.Schedule](t)(c.Schedules.Put(t.Context(), "a", minutely()))
	first := must[*client.Task](t)(c.Schedules.Trigger(t.Context(), "a", client.Key("order-42"), client.IfMatch(seen.ETag())))
	if _, err := c.Schedules.Backfill(t.Context(), "a", time.Now().Add(-time.Minute), time.Now(), client.IfMatch(seen.ETag())); err != nil {
		t.Error(err)
	}
	must[*client.Schedule](t)(c.Schedules.Pause(t.Context(), "a"))
	if _, err := c.Schedules.Trigger(t.Context(), "a", client.IfMatch(seen.ETag())); !errors.Is(err, client.ErrPrecondition) {
		t.Error("trigger:", err)
	}
	if _, err := c.Schedules.Backfill(t.Context(), "a", time.Now().Add(-time.Minute), time.Now(), client.IfMatch(seen.ETag())); !errors.Is(err, client.ErrPrecondition) {
		t.Error("backfill:", err)
	}
	if again := must[*client.Task](t)(c.Schedules.Trigger(t.Context(), "a", client.Key("order-42"), client.IfMatch(seen.ETag()))); again.ID != first.ID {
		t.Errorf("first %+v, again %+v", first, again)
	}
}

// A task that would silently become a different one is refused by the client.
func TestAScheduledTaskHasNoNameOrTimeOfItsOwn(t *testing.T) {
	c := offline(t, client.Options{}, func(*http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return nil, errors.New("offline")
	})
	for _, edit := range []func(*client.Spec){
		func(s *client.Spec) { s.Name = "a" },
		func(s *client.Spec) { s.At = time.Now() },
		func(s *client.Spec) { s.Delay = time.Second },
		func(s *client.Spec) { s.HTTP.Body = client.JSON(func() {}) },
	} {
		s := minutely()
		edit(&s.Task)
		if _, err := c.Schedules.Put(t.Context(), "a", s); err == nil || client.MaybeApplied(err) {
			t.Errorf("%+v: %v", s.Task, err)
		}
	}
}

func TestARuleIsPreviewed(t *testing.T) {
	c := serve(t).client()
	from := time.Date(2027, 3, 27, 0, 0, 0, 0, time.UTC)
	spec := client.ScheduleSpec{Cron: "30 2 * * *", TimeZone: "Europe/Berlin", Missed: client.FireAll}
	got := must[*client.RulePreview](t)(c.Schedules.PreviewRule(t.Context(), spec, client.RuleQuery{From: from, Limit: 2, Days: 3, AbsentFrom: from, AbsentUntil: from.AddDate(0, 0, 1)}))
	if len(got.Instants) != 2 || len(got.Days) != 3 || len(got.ClockChanges) != 1 || got.Absence == nil || got.Absence.Fired != 1 || got.Words == "" {
		t.Errorf("%+v", got)
	}
	var e *client.Error
	if _, err := c.Schedules.PreviewRule(t.Context(), client.ScheduleSpec{Cron: "x"}, client.RuleQuery{}); !errors.As(err, &e) || e.Field != "cron" {
		t.Errorf("a wrong expression: %v", err)
	}
}
