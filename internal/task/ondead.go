package task

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// DeadQueue is the queue of on_dead tasks, in the namespace of the dead task. It
// is a queue of its own because a pause, a rate or a purge of the task's queue
// must not delay the notice of the death. Nor must a flood of notices delay the
// tasks of that queue: dispatch alternates between queues. (The lane of tasks
// that were run by hand also ignores pause and rate, but for one attempt only,
// and it precedes all other tasks of the queue.)
const DeadQueue = "on_dead"

// deadNoticeBody is the body of an on_dead task, in the shape that Standard
// Webhooks recommends.
type deadNoticeBody struct {
	Type      string   `json:"type"`
	Timestamp string   `json:"timestamp"`
	Data      deadTask `json:"data"`
}

type deadTask struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	ID        string            `json:"id"`
	Queue     string            `json:"queue"`
	URL       string            `json:"url,omitempty"`
	Kind      string            `json:"kind,omitempty"` // in place of URL
	Labels    map[string]string `json:"labels,omitempty"`
	Reason    string            `json:"reason"`
	DueAt     string            `json:"due_at"`
	Attempts  int               `json:"attempts"`
	Status    int               `json:"status"`
	Error     string            `json:"error,omitempty"`
}

// deadNotice returns the task that reports t's death at now to its OnDead URL,
// or nil if t has none. Its name is t's name, an @ and a unique suffix, so both
// tasks are in the same shard, and it has no OnDead of its own.
func (t *Task) deadNotice(now Millis) *Task {
	if t.OnDead == "" {
		return nil
	}
	d := deadTask{
		Namespace: t.Namespace, Name: t.Name, ID: t.ID, Queue: t.Queue, URL: t.Request.URL, Kind: t.Request.Kind, Labels: t.Labels,
		Reason: t.Reason, DueAt: t.OriginalDue.Time().UTC().Format(time.RFC3339Nano), Attempts: t.Attempts,
	}
	if n := len(t.History); n > 0 {
		d.Status, d.Error = t.History[n-1].Status, t.History[n-1].Error
	}
	body, _ := json.Marshal(deadNoticeBody{"task.dead", now.Time().UTC().Format(time.RFC3339Nano), d}) // plain fields: cannot fail
	name := fmt.Sprintf("%s@dead.%s.%d", t.Name, t.ID, t.Attempts)
	s := DefaultSpec()
	s.Key, s.ID = Key{Namespace: t.Namespace, Name: name}, deriveID("on_dead", t, strconv.Itoa(t.Attempts))
	s.Queue, s.Priority, s.Trace = DeadQueue, t.Priority, t.Trace
	s.Request.URL, s.Request.BodyKind, s.Request.Body = t.OnDead, JSONBody, body
	s.When = When{At: now}
	n := s.record(now)
	if n.validate() != nil { // the URL was valid when it was accepted
		return nil
	}
	return &n
}

// ValidateOnDead checks the URL of an on_dead callback.
func ValidateOnDead(raw string) error {
	if raw == "" {
		return nil
	}
	_, err := ParseURL("on_dead", raw)
	return err
}
