package virtual

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/idle"
)

// HerdConfig describes a herd that falls silent at one moment. Bystanders are
// due before, with and after it, one each millisecond.
type HerdConfig struct {
	Herd       int
	Bystanders int
	Timeout    time.Duration
	Work       time.Duration // time to close one connection of the herd
	MaxPerTick int
}

// Herd is the result.
type Herd struct {
	HerdConfig
	P50 time.Duration `json:"p50"` // lateness of the bystanders of other ticks
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`

	Same   time.Duration `json:"same"`   // the latest one of the herd's own tick
	Passed time.Duration `json:"passed"` // from the first to the last of the herd
	Early  int           `json:"early"`  // bystanders closed before their timeout
	Open   int           `json:"open"`   // connections that were not closed
	Stalls int           `json:"stalls"` // each gives every connection a new timeout
}

// member is a connection of the herd, or a bystander.
type member struct {
	idle.Entry
	bystander bool
	silent    time.Duration // start of its silence, since the start of the run
	closed    atomic.Int64  // last call of `on`: after a stall it is called again
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
func (*Load) Herd(c HerdConfig, out *Herd) error {
	h := &herd{config: c, start: time.Now(), members: make([]member, c.Bystanders+c.Herd)}
	h.group = idle.New(idle.Config{ReadIdle: c.Timeout, MaxPerTick: c.MaxPerTick}, h.close)
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
		m.bystander, m.silent = true, time.Since(h.start)
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
	begin := time.Since(h.start)
	m.closed.Store(int64(begin))
	if !m.bystander {
		for time.Since(h.start)-begin < h.config.Work {
		}
	}
	return idle.Close
}

// wait ends some time after the last connection was due.
func (h *herd) wait() {
	end := time.Now().Add(3*h.config.Timeout + time.Duration(h.config.Herd)*h.config.Work + 5*time.Second)
	for h.group.Len() > 0 && time.Now().Before(end) {
		time.Sleep(10 * time.Millisecond)
	}
}

func (h *herd) result() Herd {
	r := Herd{HerdConfig: h.config, Stalls: int(h.group.Stats().Stalls)}
	h.giveUp(&r)
	var late []time.Duration
	for i := range h.bystanders() {
		m := &h.bystanders()[i]
		delay := time.Duration(m.closed.Load()) - m.silent - h.config.Timeout
		if delay < 0 {
			r.Early++
		}
		if (m.silent - h.hushed).Abs() < h.config.resolution() {
			r.Same = max(r.Same, delay)
			continue
		}
		late = append(late, delay)
	}
	slices.Sort(late)
	r.P50, r.P99, r.Max = late[len(late)/2], late[len(late)*99/100], late[len(late)-1]
	r.Passed = h.passed()
	return r
}

// giveUp counts connections that are still open as closed now.
func (h *herd) giveUp(r *Herd) {
	for i := range h.members {
		m := &h.members[i]
		if h.group.Untrack(&m.Entry) {
			r.Open++
			m.closed.Store(int64(time.Since(h.start)))
		}
	}
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
