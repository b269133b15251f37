package formats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

// record is a line of a list in testdata: a task, a schedule or a setting. The
// version that wrote the store has printed the values.
type record struct {
	What      string `json:"what"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	ID        string `json:"id"`

	// Of tasks and schedules.
	Queue       string            `json:"queue"`
	Priority    string            `json:"priority"`
	State       string            `json:"state"`
	Reason      string            `json:"reason"`
	Labels      map[string]string `json:"labels"`
	URL         string            `json:"url"`
	Method      string            `json:"method"`
	Headers     map[string]string `json:"headers"`
	Kind        string            `json:"kind"`
	Body        string            `json:"body"` // JSON without white space
	Timeout     string            `json:"timeout"`
	MaxAttempts int               `json:"max_attempts"`
	Due         string            `json:"due"` // of the next attempt
	Created     string            `json:"created"`
	Finished    string            `json:"finished"`
	Attempts    []attempt         `json:"attempts"`

	// Of schedules. Paused is of queues, too.
	Cron     string `json:"cron"`
	Every    string `json:"every"`
	Timezone string `json:"timezone"`
	Paused   bool   `json:"paused"`

	// Of queues, namespaces and tokens.
	Rate        float64 `json:"rate"`
	Burst       int     `json:"burst"`
	Concurrency int     `json:"concurrency"`
	MaxPending  int64   `json:"max_pending"`
	Scope       string  `json:"scope"`
	Label       string  `json:"label"`
}

type attempt struct {
	Number  int    `json:"number"`
	Status  int    `json:"status"`
	Started string `json:"started"`
}

// key identifies a record in its store.
func (r *record) key() string { return fmt.Sprint(r.What, " ", r.Namespace, "/", r.Name, r.ID) }

// readList returns the records of a list in testdata.
func readList(t *testing.T, file string) (list []*record) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r := &record{}
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if r.State == "held" { // a word of the API for a scheduled task of a paused queue
			r.State = "scheduled"
		}
		list = append(list, r)
	}
	return list
}

// readStore returns the same records of an open store.
func readStore(t *testing.T, s store.Store) (list []*record) {
	t.Helper()
	for _, namespace := range []string{task.DefaultNamespace, "acme"} {
		records, err := storetest.DrainAll(t.Context(), s, namespace, task.Page{Limit: 100, Bodies: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.IsSchedule() {
				list = append(list, scheduleRecord(r))
			} else {
				list = append(list, taskRecord(t, r))
			}
		}
	}
	for _, kind := range []settings.SettingKind{settings.QueueKind, settings.NamespaceKind, settings.TokenKind, settings.SecretKind} {
		for _, s := range s.Settings().List(kind, "") {
			list = append(list, settingRecord(t, s))
		}
	}
	return list
}

func taskRecord(t *testing.T, r *task.Task) *record {
	t.Helper()
	var body bytes.Buffer
	if len(r.Request.Body) > 0 {
		if err := json.Compact(&body, r.Request.Body); err != nil {
			t.Fatal(err)
		}
	}
	w := &record{
		What: "task", Namespace: r.Namespace, Name: r.Name, ID: r.ID, Queue: r.Queue, Priority: r.Priority.String(), State: r.State.String(),
		Reason: r.EndReason(), Labels: r.Labels, URL: r.Request.URL, Method: r.Request.Method, Headers: r.Request.Headers, Kind: r.Request.Kind,
		Body: body.String(), Timeout: r.Timeout.String(), MaxAttempts: r.Retry.MaxAttempts, Due: instant(r.Due), Created: instant(r.CreatedAt),
	}
	if !r.State.Live() {
		w.Finished = instant(r.FinishedAt)
	}
	for _, a := range r.History {
		w.Attempts = append(w.Attempts, attempt{a.Number, a.Status, instant(a.StartedAt)})
	}
	return w
}

func scheduleRecord(r *task.Task) *record {
	w := &record{
		What: "schedule", Namespace: r.Namespace, Name: r.ScheduleName(), ID: r.ID, URL: r.Request.URL,
		Cron: r.Recur.Cron, Timezone: r.Recur.Zone, Paused: r.Recur.Paused,
	}
	if r.Recur.Every > 0 {
		w.Every = r.Recur.Every.String()
	}
	return w
}

func settingRecord(t *testing.T, s settings.Setting) *record {
	t.Helper()
	switch s := s.(type) {
	case *settings.QueueSettings:
		w := &record{
			What: "queue", Namespace: s.Namespace, Name: s.Name, Paused: s.Paused, Rate: s.Rate, Burst: s.Burst, Concurrency: s.Concurrency,
		}
		if s.Retry.MaxAttempts != nil {
			w.MaxAttempts = *s.Retry.MaxAttempts
		}
		return w
	case *settings.NamespaceSettings:
		return &record{What: "namespace", Name: s.Name, MaxPending: s.MaxPending}
	case *settings.AccessToken:
		return &record{What: "token", ID: s.ID, Namespace: s.Namespace, Scope: s.Scope.String(), Label: s.Label}
	case *settings.SigningSecret:
		return &record{What: "secret", ID: s.ID}
	}
	t.Fatalf("unknown setting %T", s)
	return nil
}

func instant(at task.Millis) string { return at.Time().UTC().Format("2006-01-02T15:04:05.000Z") }

// newest returns a time right after the last change of a list.
func newest(t *testing.T, list []*record) time.Time {
	t.Helper()
	var last string
	for _, r := range list {
		last = max(last, r.Created, r.Finished)
	}
	at, err := time.Parse(time.RFC3339, last)
	if err != nil {
		t.Fatal(err)
	}
	return at.Add(5 * time.Second)
}

func sorted(list []*record) []*record {
	return slices.SortedFunc(slices.Values(list), func(a, b *record) int { return strings.Compare(a.key(), b.key()) })
}
