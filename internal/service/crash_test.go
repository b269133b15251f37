package service

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/task"
)

func TestTasksThatACrashLeftRunningAreCountedAtTheNextStart(t *testing.T) {
	dir := t.TempDir()
	s, err := pebblestore.Open(dir, pebblestore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	now := task.FloorMillis(time.Now())
	spec := task.DefaultSpec()
	spec.Name, spec.ID, spec.Queue, spec.When, spec.Request.URL = "a", "a", "mail", task.When{At: now}, "https://receiver.example/"
	if err := spec.Validate(now); err != nil {
		t.Fatal(err)
	}
	created, err := s.Transit(t.Context(), now, store.Changes([]task.Change{task.Create{Spec: spec}}))
	if err = errors.Join(err, created[0].Err); err != nil {
		t.Fatal(err)
	}
	claimed, err := s.Transit(t.Context(), now, store.Claims([]task.Claim{{Key: spec.Key, Lane: created[0].Task.Lane(), Token: "t", Until: now + 60_000}}))
	if err = errors.Join(err, claimed[0].Err, s.Close()); err != nil {
		t.Fatal(err)
	}

	n, err := Open(t.Context(), Config{Dir: dir, Collector: func() []string { return nil }}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	n.Connect(t.Context(), nil)
	defer n.Close()
	w := httptest.NewRecorder()
	n.metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/metrics", nil))
	if want := "\nfoliot_reclaims_total 1\n"; !strings.Contains(w.Body.String(), want) {
		t.Errorf("the metrics lack %q:\n%s", want, w.Body)
	}
}
