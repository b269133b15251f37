package engine

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/task"
)

func deadTask(queue, name string) *task.Task {
	return &task.Task{
		Namespace: "acme", Queue: queue, Name: name, State: task.Dead, Reason: task.ReasonAttempts, Attempts: 3,
		History: []task.Attempt{{Number: 3, Status: 500, Error: "the receiver answered 500"}},
	}
}

func TestADeathIsLoggedWithItsReason(t *testing.T) {
	j := servertest.NewJournal()
	logDeath(j.Logger(), deadTask("mail", "order-42"))
	alive := deadTask("mail", "alive")
	alive.State = task.Scheduled
	logDeath(j.Logger(), alive)
	logDeath(j.Logger(), nil)
	log := j.String()
	for _, part := range []string{`"a task died"`, "namespace=acme", "queue=mail", "task=order-42", "reason=attempts_exhausted", "attempts=3", "status=500", `error="the receiver answered 500"`} {
		if !strings.Contains(log, part) {
			t.Errorf("the log lacks %s:\n%s", part, log)
		}
	}
	if strings.Contains(log, "alive") {
		t.Errorf("the log has a task that lives:\n%s", log)
	}
}
