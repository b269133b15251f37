package service

import (
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/dispatch"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/task"
)

// A task that is due at once is refused as fast as it is created.
func TestANamespaceCannotFillTheLogWithRefusals(t *testing.T) {
	j := servertest.NewJournal()
	r := refusals{log: j.Logger()}
	refused := dispatch.Event{
		Claimed: &task.Task{Namespace: "acme", Name: "a"},
		Outcome: task.Outcome{Verdict: task.Refusal, Reason: task.ReasonEgressDenied, Error: task.EgressRefused, Detail: "10.1.2.3:80 is a private address"},
	}
	gone := refused
	gone.Outcome.Reason = "gone"
	now := time.Unix(1_800_000_000, 0)
	for i := range 2000 { // two seconds
		r.note(refused, now.Add(time.Duration(i)*time.Millisecond))
		r.note(gone, now.Add(time.Duration(i)*time.Millisecond))
	}
	log := j.String()
	if lines := strings.Count(log, "\n"); lines != 2 {
		t.Errorf("%d lines in two seconds:\n%s", lines, log)
	}
	for _, part := range []string{"10.1.2.3:80 is a private address", "namespace=acme", "not_logged_before=999"} {
		if !strings.Contains(log, part) {
			t.Errorf("the log does not say %q:\n%s", part, log)
		}
	}
}
