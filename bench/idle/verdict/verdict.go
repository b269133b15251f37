// Package verdict judges what a guard did to each connection.
package verdict

import (
	"slices"
	"time"

	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/server"
)

// Verdict is what became of a connection.
type Verdict uint8

// The verdicts.
const (
	Kept     Verdict = iota // alive, and open
	OnTime                  // closed within the timeout, the slack and the allowance
	Late                    // closed after that
	Wrong                   // closed before its timeout, by the clock of its peer
	Never                   // open, though its timeout is over
	Blind                   // the same, but the guard does not claim that it can tell
	Excused                 // closed while it talked, but the machine let the peer itself be silent for a timeout
	Verdicts = iota
)

// Rule is what a guard promises.
type Rule struct {
	Timeout   time.Duration
	Slack     time.Duration // how much later than the timeout it may close
	Allowance time.Duration // how much later than that its peer may see it: the wake-ups of two processes
	Pongs     bool          // it can tell answers to pings from use
	Writes    bool          // it sees that nothing could be sent for too long
}

// Case is what is known of one connection. All times are of one clock.
type Case struct {
	Kind  client.Kind
	Last  time.Duration // when it was used for the last time
	Moved time.Duration // when its bytes moved for the last time, if that was later: it may be late from then on
	Gap   time.Duration // the longest time for which its peer did not use it
	Ended time.Duration // 0: it is open
}

// Cases puts together what the peers and the server saw. A frozen peer sees nothing, and one that does not read sees it too
// late: of these the server's word is taken.
func Cases(seen []client.Observation, endings []server.Ending) []Case {
	ended := map[int]server.Ending{}
	for _, e := range endings {
		if !e.ByPeer {
			ended[e.ID] = e
		}
	}
	cases := make([]Case, 0, len(seen))
	for _, o := range seen {
		c := Case{Kind: o.Kind, Last: o.Last, Moved: o.Moved, Gap: o.Gap, Ended: o.Ended}
		if o.Kind == client.Frozen || o.Kind == client.Deaf {
			e := ended[o.ID]
			c.Ended = e.At
			if e.Wrote != 0 {
				c.Last = e.Wrote
			}
		}
		cases = append(cases, c)
	}
	return cases
}

// Judge returns the verdict, and how long after the timeout the connection was closed if it was to be.
func (r Rule) Judge(c Case) (v Verdict, late time.Duration) {
	silent := c.Ended - c.Last
	switch {
	case c.Ended == 0 && c.Kind.Alive():
		return Kept, 0
	case c.Ended == 0 && (c.Kind == client.Ponging && !r.Pongs || c.Kind == client.Deaf && !r.Writes):
		return Blind, 0
	case c.Ended == 0:
		return Never, 0
	case silent < r.Timeout && c.Gap < r.Timeout:
		return Wrong, 0
	case c.Kind.Alive() || silent < r.Timeout:
		return Excused, 0
	}
	late = max(0, c.Ended-max(c.Last, c.Moved)-r.Timeout)
	if late <= r.Slack+r.Allowance {
		return OnTime, late
	}
	return Late, late
}

// Tally is the judgement of many connections.
type Tally struct {
	Kinds         [client.Kinds][Verdicts]int `json:"kinds"`
	P50, P99, Max time.Duration               // of how much later than the timeout they were closed
}

// Count judges all.
func (r Rule) Count(cases []Case) (t Tally) {
	var delays []time.Duration
	for _, c := range cases {
		v, late := r.Judge(c)
		t.Kinds[c.Kind][v]++
		if v == OnTime || v == Late {
			delays = append(delays, late)
		}
	}
	if len(delays) == 0 {
		return t
	}
	slices.Sort(delays)
	t.P50 = delays[len(delays)/2]
	t.P99 = delays[len(delays)*99/100]
	t.Max = delays[len(delays)-1]
	return t
}

// Of returns how many connections have the verdict.
func (t *Tally) Of(v Verdict) (n int) {
	for k := range t.Kinds {
		n += t.Kinds[k][v]
	}
	return n
}

// Total returns how many connections of a kind were judged.
func (t *Tally) Total(k client.Kind) (n int) {
	for _, count := range t.Kinds[k] {
		n += count
	}
	return n
}
