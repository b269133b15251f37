// Package recipes has the programs of docs/recipes.md for the tests that run
// them, and checks the tasks that each of them leaves at a server. Tests of
// internal/cli run those in shell and Go, and test/clients the others.
package recipes

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

// Program is a program of the page.
type Program struct {
	Name string // of its recipe, for files: a heading in lower case, with - for other characters
	Code string

	heading string
}

// recipe has the programs of a recipe by language: sh, go, ts, python and
// asyncio, or sql and psycopg, which need a PostgreSQL.
type recipe struct {
	heading  string
	programs map[string]string
}

// block matches a heading, or a block of code with its language. Code below a
// line <!-- NAME --> is also in a Go file, which has tests of its own.
var (
	block = regexp.MustCompile("(?sm)^## ([^\n]*)$|^(<!-- [a-z]+ -->\n)?```([a-z]+)\n(.*?)^```$")
	other = regexp.MustCompile(`[^a-z0-9]+`)
)

// languages of a recipe. A transaction needs a database, which a shell script
// does not have, and in Go it is code that other tests run.
func languages(heading string) []string {
	switch heading {
	case transaction:
		return []string{"asyncio", "python", "ts"}
	case order:
		return []string{"psycopg", "sql"}
	}
	return []string{"asyncio", "go", "python", "sh", "ts"}
}

// read returns the recipes of a page, and fails the test if one lacks a language.
func read(t *testing.T, page string) (list []recipe) {
	t.Helper()
	for _, m := range block.FindAllStringSubmatch(page, -1) {
		heading, shown, language, code := m[1], m[2], m[3], m[4]
		switch {
		case heading != "":
			list = append(list, recipe{heading, map[string]string{}})
			continue
		case len(list) == 0 || shown != "": // before the first recipe, only the server's address is set
			continue
		case language == "python" && strings.HasPrefix(code, "import asyncio\n"):
			language = "asyncio"
		case language == "python" && strings.HasPrefix(code, "import psycopg\n"):
			language = "psycopg"
		}
		r := list[len(list)-1]
		if r.programs[language] != "" {
			t.Errorf("%s has two programs in %s", r.heading, language)
		}
		r.programs[language] = code
	}
	for _, r := range list {
		var got []string
		for language := range r.programs {
			got = append(got, language)
		}
		if slices.Sort(got); checks[r.heading] == nil || !slices.Equal(got, languages(r.heading)) {
			t.Errorf("%s: there are programs in %q, and a check: %v", r.heading, got, checks[r.heading] != nil)
		}
	}
	if len(list) != len(checks) {
		t.Errorf("the page has %d recipes, and there are %d checks", len(list), len(checks))
	}
	return list
}

// In returns the programs of the page in a language, in their order. They must
// run in this order, each followed by Check. root is the root of the repository.
func In(t *testing.T, root, language string) (list []Program) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "recipes.md"))
	fatal.If(t, err)
	for _, r := range read(t, string(page)) {
		code := r.programs[language]
		if code == "" {
			continue
		}
		if r.heading == transaction && language == "ts" { // the page has no database
			code += "\nawait createInvoice({ query: async () => {} }, '42', new Date(Date.now() + 14 * 86_400_000))\n"
		}
		name := strings.Trim(other.ReplaceAllString(strings.ToLower(r.heading), "-"), "-")
		list = append(list, Program{name, code, r.heading})
	}
	return list
}

// Check fails the test unless a program has left at the server the tasks of its
// recipe.
func (p Program) Check(t *testing.T, server string) {
	t.Helper()
	checks[p.heading](t, server)
}

// task has the fields of tasks and schedules that are checked.
type task struct {
	State    string
	Timezone string
	Words    string
	OnDead   string    `json:"on_dead"`
	DueAt    time.Time `json:"due_at"`
	HTTP     struct{ URL string }
	Retry    struct {
		MinBackoff string `json:"min_backoff"`
		MaxBackoff string `json:"max_backoff"`
		MaxAge     string `json:"max_age"`
	}
}

const (
	order       = "A task that commits with your order"
	transaction = "With a database transaction"
)

// checks has a check for each recipe.
var checks = map[string]func(t *testing.T, server string){
	"Close an order after 30 minutes": func(t *testing.T, server string) {
		waits(t, server, "order-42-close", "https://shop.example/orders/42/close", 30*time.Minute)
	},
	"Postpone it": func(t *testing.T, server string) {
		waits(t, server, "order-42-close", "https://shop.example/orders/42/close", 2*time.Hour)
	},
	"Cancel it when the order is paid": func(t *testing.T, server string) {
		if got := one(t, server, "/v1/tasks/order-42-close"); got.State != "cancelled" {
			t.Errorf("the task is %s", got.State)
		}
	},
	"Remind three days before, at 09:00 in the user's time zone": func(t *testing.T, server string) {
		got := one(t, server, "/v1/tasks/trip-42-remind")
		if want := time.Date(2031, time.March, 29, 8, 0, 0, 0, time.UTC); !got.DueAt.Equal(want) {
			t.Errorf("the reminder is due at %v, want %v", got.DueAt, want)
		}
	},
	"Retry a payment with a longer and longer wait": func(t *testing.T, server string) {
		got := waits(t, server, "payment-42", "https://shop.example/payments/42", time.Minute)
		for text, want := range map[string]time.Duration{got.Retry.MinBackoff: time.Minute, got.Retry.MaxBackoff: 6 * time.Hour, got.Retry.MaxAge: 72 * time.Hour} {
			if d, err := time.ParseDuration(text); err != nil || d != want {
				t.Errorf("a duration of the retries is %q, want %v", text, want)
			}
		}
		if got.OnDead != "https://shop.example/payments/failed" {
			t.Errorf("on_dead is %q", got.OnDead)
		}
	},
	"Send a report each night": func(t *testing.T, server string) {
		got := one(t, server, "/v1/schedules/nightly-report")
		if got.Timezone != "Europe/Berlin" || !strings.Contains(got.Words, "02:00") {
			t.Errorf("the report is sent %s, in %s", got.Words, got.Timezone)
		}
	},
	"Do it once, although the event comes twice": func(t *testing.T, server string) {
		var got struct{ Tasks []task }
		get(t, server+"/v1/tasks?label=order%3D42", &got)
		if len(got.Tasks) != 1 || got.Tasks[0].HTTP.URL != "https://shop.example/orders/42/thank" {
			t.Errorf("the event has created %+v", got.Tasks)
		}
	},
	order: func(t *testing.T, server string) {
		waits(t, server, "order-42-close", "https://shop.example/orders/42/close", 30*time.Minute)
	},
	transaction: func(t *testing.T, server string) {
		waits(t, server, "invoice-42-remind", "https://shop.example/invoices/42/remind", 14*24*time.Hour)
	},
}

// waits returns a task that must be due after d, rounded up to a millisecond, less
// the time that the test took.
func waits(t *testing.T, server, name, url string, d time.Duration) task {
	t.Helper()
	got := one(t, server, "/v1/tasks/"+name)
	if left := time.Until(got.DueAt); got.State != "scheduled" || got.HTTP.URL != url || left > d+time.Millisecond || left < d-30*time.Second {
		t.Errorf("%s is %s, and calls %s in %v: want %s in %v", name, got.State, got.HTTP.URL, left, url, d)
	}
	return got
}

func one(t *testing.T, server, path string) (got task) {
	t.Helper()
	get(t, server+path, &got)
	return got
}

func get(t *testing.T, url string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	fatal.If(t, err)
	reply, err := http.DefaultClient.Do(req)
	fatal.If(t, err)
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		t.Fatalf("%s: the reply is %s", url, reply.Status)
	}
	fatal.If(t, json.NewDecoder(reply.Body).Decode(into))
}
