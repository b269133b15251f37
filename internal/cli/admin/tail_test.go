package admin

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/fatal"
)

// attempt returns an attempt of a task that ended at a second.
func attempt(name string, second int) admin.EndedAttempt {
	return admin.EndedAttempt{At: time.Unix(int64(second), 0).UTC(), Namespace: "default", Task: name, Number: 1, Outcome: "delivered", Status: 200}
}

func TestAFollowerReturnsEachAttemptOnce(t *testing.T) {
	f := &attemptFollower{seen: map[attemptKey]bool{}}
	for i, step := range []struct {
		list []admin.EndedAttempt // the latest first
		want string
	}{
		{[]admin.EndedAttempt{attempt("b", 9), attempt("a", 8)}, "ab"},
		{[]admin.EndedAttempt{attempt("b", 9), attempt("a", 8)}, ""},
		{[]admin.EndedAttempt{attempt("d", 11), attempt("b", 9), attempt("c", 9), attempt("a", 8)}, "cd"}, // c was settled late
		{[]admin.EndedAttempt{attempt("d", 12), attempt("d", 11)}, "d"},                                   // another attempt of d
		{nil, ""},
		{[]admin.EndedAttempt{attempt("g", 103), attempt("x", 60)}, "xg"},
		{[]admin.EndedAttempt{attempt("g", 103), attempt("x", 60)}, ""},
	} {
		got := ""
		for _, a := range f.next(step.list) {
			got += a.Task
		}
		if got != step.want {
			t.Errorf("list %d: got %q, want %q", i, got, step.want)
		}
	}
	if len(f.seen) > 8 {
		t.Errorf("it remembers %d attempts", len(f.seen))
	}
}

// A server lists an attempt, is unavailable, and lists another one.
func TestTailContinuesAfterAnError(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		list := `{"at":"2030-01-01T00:00:00.000Z","namespace":"default","queue":"q","task":"a","number":1,"outcome":"delivered","status":204,"late_ms":2,"waited_ms":60000}`
		switch n := requests.Add(1); {
		case n == 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case n > 2:
			list = `{"at":"2030-01-01T00:00:01.000Z","namespace":"shop","queue":"q","task":"b","number":3,"outcome":"failed","late_ms":0,"error":"cannot connect","dead":true,"reason":"attempts_exhausted"},` + list
		}
		fmt.Fprintf(w, `{"attempts": [%s], "since": "2020-12-31T00:00:00.000Z"}`, list)
	}))
	defer s.Close()
	api, err := client.New(s.URL, client.Options{Retry: client.RetryPolicy{Attempts: 1}})
	fatal.If(t, err)
	defer api.Close()
	var notes bytes.Buffer
	out := &screen{shown: stop, until: "shop/b"}
	if err := (&Tail{Last: 10}).follow(ctx, &console.Console{Out: out, Err: &notes}, api, time.Millisecond); err != nil {
		t.Error(err)
	}
	want := "2030-01-01T00:00:00.000Z\ta\tdelivered\t2.0 ms\t1m\t204\t-\n" +
		"2030-01-01T00:00:01.000Z\tshop/b\tfailed\t0.0 ms\t0.0 ms\t-\tcannot connect; the task is dead: attempts_exhausted\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := notes.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "trying again") {
		t.Errorf("the notes are %q", got)
	}
}
