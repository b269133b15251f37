package virtual

import (
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/idle"
)

// HerdConfig is a herd that falls silent in one moment, and bystanders, one a millisecond, that were to be closed before, with and
// after it.
type HerdConfig struct {
	Herd       int
	Bystanders int
	Timeout    time.Duration
	Work       time.Duration // that it takes to close one of the herd
	MaxPerTick int
}

// Herd is what it took.
type Herd struct {
	HerdConfig
	P50 time.Duration `json:"p50"` // of how much later than their timeout the bystanders of other ticks were closed
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`

	Same   time.Duration `json:"same"`   // the latest of the herd's own tick
	Passed time.Duration `json:"passed"` // from the first of the herd to the last
	Early  int           `json:"early"`  // bystanders before their timeout
	Open   int           `json:"open"`   // connections that were not closed
	Stalls int           `json:"stalls"` // after each of them all have a new timeout
}

// member is a connection of the herd, or a bystander.
type member struct {
	idle.Entry
	bystander bool
	silent    time.Duration // from when on, since the start
	closed    atomic.Int64  // when `on` was called for the last time: after a stall it is called again
}

// herd is the state of a run.
type herd struct {
	config  HerdConfig
	start   time.Time
	hushed  time.Duration // when the herd fell silent
	members []member      // the bystanders first
	group   *idle.Group[*member]
}

// Herd watches them go.
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

// hush lets the herd fall silent: all at once, so in one step or two.
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

// wait gives up some time after the last one was to be closed.
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

// giveUp takes those that are still open for closed now.
func (h *herd) giveUp(r *Herd) {
	for i := range h.members {
		m := &h.members[i]
		if h.group.Untrack(&m.Entry) {
			r.Open++
			m.closed.Store(int64(time.Since(h.start)))
		}
	}
}

// passed is from the first of the herd to the last.
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
	return min(max(c.Timeout/64, 10*time.Millisecond), time.Second)
}
