package task

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// DeadQueue is the queue of on_dead tasks, in the namespace of the dead. It is one
// of its own because what stops a queue, a pause, its rate, a purge, must not hold
// back the news of what died in it, nor a flood of such news the queue's tasks:
// queues take turns. (The lane of what is run by hand would pass pause and rate,
// too, but for one attempt only, and goes before everything in its queue.)
const DeadQueue = "on_dead"

// deadNotice is the body of an on_dead task, in the shape that Standard
// Webhooks recommends.
type deadNotice struct {
	Type      string   `json:"type"`
	Timestamp string   `json:"timestamp"`
	Data      deadTask `json:"data"`
}

type deadTask struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	ID        string            `json:"id"`
	Queue     string            `json:"queue"`
	URL       string            `json:"url"`
	Labels    map[string]string `json:"labels,omitempty"`
	Reason    string            `json:"reason"`
	DueAt     string            `json:"due_at"`
	Attempts  int               `json:"attempts"`
	Status    int               `json:"status"`
	Error     string            `json:"error,omitempty"`
}

// obituary returns the task that tells t's OnDead URL of t's death at now, nil
// where nobody wants to know. Its name is t's with what makes it unique behind
// an @, so that it falls into t's shard. It has no OnDead of its own.
func (t *Task) obituary(now Millis) *Task {
	if t.OnDead == "" {
		return nil
	}
	d := deadTask{
		Namespace: t.Namespace, Name: t.Name, ID: t.ID, Queue: t.Queue, URL: t.Request.URL, Labels: t.Labels,
		Reason: t.Reason, DueAt: t.OriginalDue.Time().UTC().Format(time.RFC3339Nano), Attempts: t.Tries,
	}
	if n := len(t.History); n > 0 {
		d.Status, d.Error = t.History[n-1].Status, t.History[n-1].Error
	}
	body, _ := json.Marshal(deadNotice{"task.dead", now.Time().UTC().Format(time.RFC3339Nano), d}) // plain fields: cannot fail
	name := fmt.Sprintf("%s@dead.%s.%d", t.Name, t.ID, t.Tries)
	s := DefaultSpec()
	s.Key, s.ID = Key{Namespace: t.Namespace, Name: name}, deriveID("on_dead", t, strconv.Itoa(t.Tries))
	s.Queue, s.Priority, s.Trace = DeadQueue, t.Priority, t.Trace
	s.Request.URL, s.Request.BodyKind, s.Request.Body = t.OnDead, JSONBody, body
	s.When = When{At: now}
	n := s.record(now)
	if n.validate() != nil { // the URL was valid when it was accepted
		return nil
	}
	return n
}

// validateOnDead checks the URL of an on_dead callback.
func validateOnDead(raw string) error {
	if raw == "" {
		return nil
	}
	if _, err := parseURL("on_dead", raw); err != nil {
		return err
	}
	return nil
}
