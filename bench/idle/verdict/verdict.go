// Package verdict decides about the end of each connection under a guard.
package verdict

import (
	"time"

	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/server"
	"github.com/foliot/foliot/bench/metric"
)

// Verdict is the outcome of a connection.
type Verdict uint8

// The verdicts.
const (
	Kept     Verdict = iota // alive, and open
	OnTime                  // closed within the timeout, the slack and the allowance
	Late                    // closed after that
	Wrong                   // closed before its timeout, by its peer's clock
	Never                   // open after its timeout
	Blind                   // the same, but the guard does not promise to notice
	Excused                 // closed while it talked, but the machine kept the peer itself silent for a timeout
	Verdicts = iota
)

// Rule is the promise of a guard.
type Rule struct {
	Timeout   time.Duration
	Slack     time.Duration // allowed lateness
	Allowance time.Duration // allowed delay until the peer sees it: the wake-ups of two processes
	Pongs     bool          // it distinguishes answers to pings from use
	Writes    bool          // it notices that no data could be sent for too long
}

// Case describes one connection. All times are of one clock.
type Case struct {
	Kind  client.Kind
	Last  time.Duration // last use
	Moved time.Duration // last movement of its bytes, if that was later: lateness may count from then
	Gap   time.Duration // longest time without use by its peer
	Ended time.Duration // zero means that it is open
}

// Cases combines the observations of the peers and the server. A frozen peer
// sees nothing, and one that does not read sees its end too late: for these,
// the server's observation counts.
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

// Judge returns the verdict, and the time from the timeout to the close if a
// close was due.
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

// Names are the names of the verdicts as values: numbers of connections.
var Names = [Verdicts]string{"kept", "closed_on_time", "closed_late", "closed_wrongly", "never_closed", "blind", "excused"}

// Count stores the numbers of the verdicts, and the lateness of the closes.
func (r Rule) Count(cases []Case, values metric.Values) {
	var delays []time.Duration
	for _, name := range Names {
		values[name] = 0
	}
	for _, c := range cases {
		v, late := r.Judge(c)
		values[Names[v]]++
		if v == OnTime || v == Late {
			delays = append(delays, late)
		}
	}
	values.Lateness(delays)
}
