package node

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/task"
)

const (
	// In each deathWindow, at most deathLines deaths of a deathKind are logged
	// one by one, and at most deathKinds of these kinds are counted separately.
	deathWindow = 10 * time.Second
	deathLines  = 5
	deathKinds  = 20
)

// deaths logs tasks that died, with the reason. A receiver that is down can
// cause thousands of deaths a second. To keep the log short, only the first
// deaths of a window are logged one by one. To keep it complete, one line per
// deathKind gives the number of the other deaths at the end of the window. The
// methods can be called concurrently.
type deaths struct {
	log *slog.Logger

	mu    sync.Mutex // guards the fields below
	kinds map[deathKind]*deathCount
	timer *time.Timer // ends the window; nil means that no window is open
}

// deathKind groups deaths that share a limit of lines. The zero value stands
// for all kinds beyond the first deathKinds.
type deathKind struct{ namespace, queue, reason string }

// deathCount counts the deaths with a line, and those without.
type deathCount struct{ lines, silent int }

// note logs t if it died.
func (d *deaths) note(t *task.Task) {
	if t == nil || t.State != task.Dead {
		return
	}
	if d.turn(deathKind{t.Namespace, t.Queue, t.Reason}) {
		d.write(t)
	}
}

// turn counts a death of a kind, and reports whether it must be logged now.
func (d *deaths) turn(kind deathKind) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer == nil {
		d.kinds = map[deathKind]*deathCount{}
		d.timer = time.AfterFunc(deathWindow, d.flush)
	}
	if d.kinds[kind] == nil && len(d.kinds) >= deathKinds {
		kind = deathKind{}
	}
	count := d.kinds[kind]
	if count == nil {
		count = &deathCount{}
		d.kinds[kind] = count
	}
	if kind == (deathKind{}) || count.lines == deathLines {
		count.silent++
		return false
	}
	count.lines++
	return true
}

// write logs the death of t.
func (d *deaths) write(t *task.Task) {
	attrs := []any{
		"namespace", t.Namespace, "queue", t.Queue, "task", t.Name, "id", t.ID, "reason", t.Reason,
		"destination", t.Request.Destination, "due", t.OriginalDue.Time().UTC(), "attempts", t.Attempts,
	}
	if n := len(t.History); n > 0 {
		last := t.History[n-1]
		attrs = append(attrs, "status", last.Status, "error", last.Error)
		if last.Detail != "" {
			attrs = append(attrs, "detail", last.Detail)
		}
	}
	d.log.Warn("a task died", attrs...)
}

// flush ends the window. It logs the number of deaths without a line.
func (d *deaths) flush() {
	d.mu.Lock()
	if d.timer != nil {
		d.timer.Stop()
	}
	kinds := d.kinds
	d.kinds, d.timer = nil, nil
	d.mu.Unlock()
	sorted := make([]deathKind, 0, len(kinds))
	for kind, count := range kinds {
		if count.silent > 0 {
			sorted = append(sorted, kind)
		}
	}
	slices.SortFunc(sorted, func(a, b deathKind) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.queue, b.queue), cmp.Compare(a.reason, b.reason))
	})
	for _, kind := range sorted {
		if kind == (deathKind{}) {
			d.log.Warn("more tasks of other queues died", "tasks", kinds[kind].silent)
			continue
		}
		d.log.Warn("more tasks died", "namespace", kind.namespace, "queue", kind.queue, "reason", kind.reason, "tasks", kinds[kind].silent)
	}
}
