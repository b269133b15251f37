package node

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	synctest.Test(t, func(t *testing.T) {
		j := servertest.NewJournal()
		d := deaths{log: j.Logger()}
		d.note(deadTask("mail", "order-42"))
		alive := deadTask("mail", "alive")
		alive.State = task.Scheduled
		d.note(alive)
		d.note(nil)
		log := j.String()
		for _, part := range []string{`"a task died"`, "namespace=acme", "queue=mail", "task=order-42", "reason=attempts_exhausted", "attempts=3", "status=500", `error="the receiver answered 500"`} {
			if !strings.Contains(log, part) {
				t.Errorf("the log lacks %s:\n%s", part, log)
			}
		}
		if strings.Contains(log, "alive") {
			t.Errorf("the log has a task that lives:\n%s", log)
		}
		d.flush()
	})
}

func TestManyDeathsFillNoLogAndNoneIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := servertest.NewJournal()
		d := deaths{log: j.Logger()}
		for i := range 1000 {
			d.note(deadTask("mail", fmt.Sprint("mail-", i)))
		}
		d.note(deadTask("orders", "order-42")) // is logged in spite of the flood
		for i := range 100 {
			d.note(deadTask(fmt.Sprint("queue-", i), "one"))
		}
		time.Sleep(deathWindow)
		synctest.Wait()
		log := j.String()
		if lines, most := strings.Count(log, "\n"), deathLines+deathKinds+2; lines > most {
			t.Errorf("%d lines, at most %d are allowed:\n%s", lines, most, log)
		}
		for _, part := range []string{"task=order-42", "queue=mail reason=attempts_exhausted tasks=995", `"more tasks of other queues died" tasks=82`} {
			if !strings.Contains(log, part) {
				t.Errorf("the log lacks %s:\n%s", part, log)
			}
		}
		d.note(deadTask("mail", "later"))
		if !strings.Contains(j.String(), "task=later") {
			t.Error("the next window logs no death")
		}
		d.flush()
	})
}
