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
	"github.com/foliot/foliot/internal/cli/console"
)

// attempt returns an attempt of a task that ended at a second.
func attempt(name string, second int) client.EndedAttempt {
	return client.EndedAttempt{At: time.Unix(int64(second), 0).UTC(), Namespace: "default", Task: name, Number: 1, Outcome: "delivered", Status: 200}
}

func TestAFollowerReturnsEachAttemptOnce(t *testing.T) {
	f := &attemptFollower{seen: map[attemptKey]bool{}}
	for i, step := range []struct {
		asked, since int
		list         []client.EndedAttempt // the latest first
		want         string
		missing      bool
	}{
		{10, 0, []client.EndedAttempt{attempt("b", 9), attempt("a", 8)}, "ab", false},
		{11, 0, []client.EndedAttempt{attempt("b", 9), attempt("a", 8)}, "", false},
		{12, 0, []client.EndedAttempt{attempt("d", 11), attempt("b", 9), attempt("c", 9), attempt("a", 8)}, "cd", false}, // c was settled late
		{13, 0, []client.EndedAttempt{attempt("d", 12), attempt("d", 11)}, "d", false},                                   // another attempt of d
		{100, 50, nil, "", true},
		{101, 100, []client.EndedAttempt{attempt("e", 101)}, "e", false}, // since is not after the last request
		{102, 102, []client.EndedAttempt{attempt("f", 102)}, "f", true},
		{103, 103, []client.EndedAttempt{attempt("g", 103)}, "g", false}, // the gap goes on
		{104, 80, []client.EndedAttempt{attempt("g", 103), attempt("x", 60)}, "", false},
	} {
		fresh, missing := f.next(&client.AttemptList{Attempts: step.list, Since: time.Unix(int64(step.since), 0)}, time.Unix(int64(step.asked), 0))
		got := ""
		for _, a := range fresh {
			got += a.Task
		}
		if got != step.want || missing != step.missing {
			t.Errorf("list %d: got %q and %v, want %q and %v", i, got, missing, step.want, step.missing)
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
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/whoami") {
			fmt.Fprintf(w, `{"now": %q, "scope": "read"}`, time.Now().UTC().Format(time.RFC3339Nano))
			return
		}
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
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	var notes bytes.Buffer
	out := &screen{shown: stop, until: "shop/b"}
	if err := (&Tail{Last: 10}).follow(ctx, &console.Console{Out: out, Err: &notes}, api, time.Millisecond); err != nil {
		t.Error(err)
	}
	want := "2030-01-01T00:00:00.000Z\ta\tdelivered\t2.0 ms\t1m0s\t204\t-\n" +
		"2030-01-01T00:00:01.000Z\tshop/b\tfailed\t0.0 ms\t0.0 ms\t-\tcannot connect; the task is dead: attempts_exhausted\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := notes.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "trying again") {
		t.Errorf("the notes are %q", got)
	}
}
