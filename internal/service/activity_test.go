package service

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// The API and the record of attempts have the words of outcomes each for
// themselves.
func TestEveryOutcomeIsFoundByItsWord(t *testing.T) {
	n, err := Open(t.Context(), Config{Collector: func() []string { return nil }}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	n.Connect(t.Context(), nil)
	defer n.Close()
	claimed, after := &task.Task{Namespace: "default", Name: "a", Queue: "default"}, &task.Task{State: task.Scheduled}
	for _, v := range []task.Verdict{task.Success, task.Failure, task.Deferral, task.Refusal, task.Interrupted} {
		n.Attempts.Note(task.FloorMillis(n.Now()), claimed, &task.Outcome{Verdict: v}, after)
	}
	n.Attempts.Note(task.FloorMillis(n.Now()), claimed, &task.Outcome{Verdict: task.Success}, nil)
	attempts := func(query string) (list wire.AttemptList) {
		t.Helper()
		w := httptest.NewRecorder()
		n.API.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/v1/attempts"+query, nil))
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != 200 {
			t.Fatal(query, w.Body, err)
		}
		return list
	}
	all := attempts("")
	if len(all.Attempts) != 6 {
		t.Fatalf("%d attempts: %+v", len(all.Attempts), all)
	}
	for _, a := range all.Attempts {
		if found := attempts("?outcome=" + a.Outcome); len(found.Attempts) != 1 || found.Attempts[0].Outcome != a.Outcome {
			t.Errorf("%s: %+v", a.Outcome, found)
		}
	}
}
