package api

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// ill is a store with failing changes. It may report an error of the whole
// store.
type ill struct {
	Store
	why, whole error
}

func (l ill) Transit(context.Context, task.Millis, []store.Step) ([]store.Reply, error) {
	return nil, l.why
}

func (l ill) Standing() store.Standing {
	st := l.Store.Standing()
	st.Err = l.whole
	return st
}

func TestAStoreThatCannotBeReachedIsUnavailableAndNotLogged(t *testing.T) {
	away := fmt.Errorf("%w: the Redis at 192.0.2.1:6379 is secret", task.ErrUnavailable)
	var log bytes.Buffer
	s := New(Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, ill{memstore.New(memstore.Config{}), away, away})
	for _, path := range []string{"/v1/tasks", "/readyz"} {
		method, body := "POST", `{"delay":"1h","http":{"url":"https://example.com/"}}`
		if path == "/readyz" {
			method, body = "GET", ""
		}
		r := httptest.NewRequest(method, "http://localhost"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"unavailable"`) ||
			!strings.Contains(w.Body.String(), "cannot be reached") || strings.Contains(w.Body.String(), "192.0.2.1") {
			t.Errorf("%s: %d %v\n%s", path, w.Code, w.Header(), w.Body)
		}
	}
	if log.Len() > 0 {
		t.Errorf("each request is logged:\n%s", log.String())
	}
}

// If the store cannot be reached, the outcome of the last step of a backfill is
// unknown.
func TestAFailedBackfillReportsItsProgress(t *testing.T) {
	done := wire.BackfillReply{Created: 4, Existing: 2, Instants: 9}
	for want, err := range map[string]error{
		"; created at least 4 of 9, and 2 existed: ": fmt.Errorf("%w: the Redis at 192.0.2.1:6379", task.ErrUnavailable),
		"; created 4 of 9, and 2 existed: ":          fmt.Errorf("%w: no memory at 192.0.2.1:6379", task.ErrFull),
	} {
		if p := problemOf(&backfillError{err, done}); p.Status != 503 || !strings.Contains(p.Detail, want) || strings.Contains(p.Detail, "192.0.2.1") {
			t.Errorf("%v: %+v", err, p)
		}
	}
}

func TestAFullStoreIsLoggedSparsely(t *testing.T) {
	var log bytes.Buffer
	s := New(Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, ill{memstore.New(memstore.Config{}), task.ErrFull, nil})
	for range 20 {
		r := httptest.NewRequest("POST", "http://localhost/v1/tasks", strings.NewReader(`{"delay":"1h","http":{"url":"https://example.com/"}}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != 503 || !strings.Contains(w.Body.String(), `"capacity"`) {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}

// unsure is a store that makes changes and cannot confirm their durability.
type unsure struct{ Store }

func (l unsure) Transit(ctx context.Context, now task.Millis, steps []store.Step) ([]store.Reply, error) {
	if _, err := l.Store.Transit(ctx, now, steps); err != nil {
		return nil, err
	}
	return nil, &task.ShortError{Wanted: 1, Within: time.Second}
}

func TestAnUnconfirmedCreateReportsHowToRepeatIt(t *testing.T) {
	for key, tasks := range map[string]int{"": 2, "k": 1} {
		store := memstore.New(memstore.Config{})
		s, said := New(Config{Log: slog.New(slog.DiscardHandler)}, unsure{store}), ""
		for range 2 {
			r := httptest.NewRequest("POST", "http://localhost/v1/tasks", strings.NewReader(`{"delay":"1h","http":{"url":"https://example.com/"}}`))
			r.Header.Set("Content-Type", "application/json")
			if key != "" {
				r.Header.Set("Idempotency-Key", key)
			}
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, r); w.Code != 503 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			said = w.Body.String()
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/v1/tasks", http.NoBody))
		if n := strings.Count(w.Body.String(), `"scheduled"`); n != tasks {
			t.Errorf("%d tasks with the key %q:\n%s", n, key, w.Body)
		}
		if !strings.Contains(said, "a create without a name or an Idempotency-Key may be made twice") {
			t.Errorf("it says %s", said)
		}
	}
}

func TestAChangeThatIsNotDurableSaysHowManyReplicasConfirmedIt(t *testing.T) {
	why := fmt.Errorf("the Redis at 192.0.2.1:6379: %w", &task.ShortError{Wanted: 2, Within: 2 * time.Second})
	s := New(Config{Log: slog.New(slog.DiscardHandler)}, ill{memstore.New(memstore.Config{}), why, nil})
	r := httptest.NewRequest("POST", "http://localhost/v1/tasks", strings.NewReader(`{"delay":"1h","http":{"url":"https://example.com/"}}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != 503 || !strings.Contains(w.Body.String(), `"durability_not_met"`) ||
		!strings.Contains(w.Body.String(), "0 of 2 replicas confirmed it within 2s: repeat the request") || strings.Contains(w.Body.String(), "192.0.2.1") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
