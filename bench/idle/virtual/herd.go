package virtual

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/bench/record"
	"github.com/foliot/foliot/idle"
)

// HerdConfig describes a herd that falls silent at one moment. Bystanders are
// due before, with and after it, one each millisecond.
type HerdConfig struct {
	Herd       int
	Bystanders int
	Timeout    time.Duration
}

// The names of values of a herd, besides those of package record, which are about
// the bystanders of other ticks.
const (
	SameMs   = "same_late_ms" // the latest bystander of the herd's own tick
	PassedMs = "passed_ms"    // from the first to the last of the herd
	Open     = "open"         // connections that were not closed
	Stalls   = "stalls"       // each gives every connection a new timeout
)

// member is a connection of the herd, or a bystander.
type member struct {
	idle.Entry
	silent time.Duration // start of its silence, since the start of the run
	closed atomic.Int64  // last call of `on`: after a stall it is called again
}

// herd is the state of a run.
type herd struct {
	config  HerdConfig
	start   time.Time
	hushed  time.Duration // when the herd fell silent
	members []member      // bystanders first
	group   *idle.Group[*member]
}

// Herd runs the herd.
func (*Load) Herd(c HerdConfig, out *record.Values) error {
	h := &herd{config: c, start: time.Now(), members: make([]member, c.Bystanders+c.Herd)}
	h.group = idle.New(idle.Config{ReadIdle: c.Timeout}, h.close)
	defer h.group.Close()
	for i := range h.herd() {
		if err := h.track(&h.herd()[i]); err != nil {
			return err
		}
	}
	for i := range h.bystanders() {
		if i == c.Bystanders/2 {
			h.hush()
		}
		m := &h.bystanders()[i]
		m.silent = time.Since(h.start)
		if err := h.track(m); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	h.wait()
	*out = h.result()
	return nil
}

func (h *herd) bystanders() []member { return h.members[:h.config.Bystanders] }
func (h *herd) herd() []member       { return h.members[h.config.Bystanders:] }

func (h *herd) track(m *member) error { return h.group.Track(m, &m.Entry) }

// hush makes the herd fall silent, all at once, so in one step or two.
func (h *herd) hush() {
	h.hushed = time.Since(h.start)
	for i := range h.herd() {
		m := &h.herd()[i]
		m.TouchRead()
		m.silent = h.hushed
	}
}

// close is called by the group's workers.
func (h *herd) close(m *member, _ idle.Reason) idle.Verdict {
	m.closed.Store(int64(time.Since(h.start)))
	return idle.Close
}

// wait ends some time after the last connection was due.
func (h *herd) wait() {
	end := time.Now().Add(3*h.config.Timeout + 5*time.Second)
	for h.group.Len() > 0 && time.Now().Before(end) {
		time.Sleep(10 * time.Millisecond)
	}
}

func (h *herd) result() record.Values {
	v := record.Values{Stalls: float64(h.group.Stats().Stalls), Open: h.giveUp(), record.Early: 0}
	var late []time.Duration
	var same time.Duration
	for i := range h.bystanders() {
		m := &h.bystanders()[i]
		delay := time.Duration(m.closed.Load()) - m.silent - h.config.Timeout
		if delay < 0 {
			v[record.Early]++
		}
		if (m.silent - h.hushed).Abs() < h.config.resolution() {
			same = max(same, delay)
			continue
		}
		late = append(late, delay)
	}
	slices.Sort(late)
	v[record.P50Ms], v[record.P99Ms], v[record.MaxMs] = millis(late[len(late)/2]), millis(late[len(late)*99/100]), millis(late[len(late)-1])
	v[SameMs], v[PassedMs] = millis(same), millis(h.passed())
	return v
}

// giveUp counts connections that are still open as closed now.
func (h *herd) giveUp() (open float64) {
	for i := range h.members {
		m := &h.members[i]
		if h.group.Untrack(&m.Entry) {
			open++
			m.closed.Store(int64(time.Since(h.start)))
		}
	}
	return open
}

// passed returns the time from the first to the last of the herd.
func (h *herd) passed() time.Duration {
	if h.config.Herd == 0 {
		return 0
	}
	first, last := int64(math.MaxInt64), int64(0)
	for i := range h.herd() {
		at := h.herd()[i].closed.Load()
		first, last = min(first, at), max(last, at)
	}
	return time.Duration(last - first)
}

// resolution is the group's, by default.
func (c *HerdConfig) resolution() time.Duration {
	return min(max(c.Timeout/64, 100*time.Millisecond), time.Second)
}
