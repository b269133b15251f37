package activity

import (
	"strings"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Recorder collects attempts, in methods that many goroutines can call.
type Recorder struct {
	mu        sync.Mutex
	began     task.Millis
	delivered recent // attempts that delivered their task
	others    recent // all other attempts
}

// New returns a Recorder that begins now.
func New(now task.Millis) *Recorder {
	return &Recorder{
		began:     now,
		delivered: recent{lists: map[string]*attemptList{}}, others: recent{lists: map[string]*attemptList{}},
	}
}

// attempt is one attempt that has ended.
type attempt struct {
	EndedAt                task.Millis
	Namespace, Queue, Name string
	Destination            string
	Number                 int
	Outcome                string // as the API shows it
	Status                 int    // zero means that no reply came
	Error, Detail          string // Detail is for operators only
	Late, Waited, Latency  time.Duration
	Died                   bool   // the task is dead now
	Reason                 string // of its death
}

// Note records an attempt of the task claimed. after is the task after the attempt, or
// nil if the lease was lost. An attempt that sent nothing is ignored. Note costs about
// 100 ns, and about 1 µs if the attempt is kept.
func (r *Recorder) Note(now task.Millis, claimed *task.Task, o *task.Outcome, after *task.Task) {
	if o.Verdict == task.Unsent {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	kind := &r.others
	if o.Verdict == task.Success && after != nil {
		kind = &r.delivered
	}
	if place := kind.place(now, claimed.Namespace); place != nil {
		*place = attemptOf(now, claimed, o, after)
	}
}

// attemptOf returns the record of an attempt, with copies of its texts, because a text
// of a task can hold the memory of the whole task.
func attemptOf(now task.Millis, claimed *task.Task, o *task.Outcome, after *task.Task) attempt {
	a := attempt{
		EndedAt: now, Namespace: strings.Clone(claimed.Namespace), Queue: strings.Clone(claimed.Queue), Name: strings.Clone(claimed.Name),
		Destination: strings.Clone(claimed.Request.Destination), Number: claimed.Attempts, Outcome: outcomeOf(o.Verdict, after),
		Status: o.Status, Error: strings.Clone(o.Error), Detail: strings.Clone(o.Detail), Late: o.Late, Waited: o.Waited, Latency: o.Latency,
	}
	if after != nil && after.State == task.Dead {
		a.Died, a.Reason = true, strings.Clone(after.Reason)
	}
	return a
}

// outcomeOf returns the outcome of an attempt as the API shows it.
func outcomeOf(v task.Verdict, after *task.Task) string {
	if after == nil {
		return "lost_lease"
	}
	return v.String()
}
