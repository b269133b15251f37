package load

import (
	"fmt"
	"syscall"
	"time"

	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
)

// Shape is the number of connections of each kind, and the timing.
type Shape struct {
	Connections int
	Bound       string // the limit of their number
	Timeout     time.Duration
	Every       time.Duration // time between messages
	Drip        time.Duration // time between bytes of the slow drips
	Settle      time.Duration // pause before the measurement
	Window      time.Duration // time in which all talk and CPU is measured
	Spread      time.Duration // time over which they fall silent
	Allowance   time.Duration // for the wake-ups of two processes, in addition to the promise of a guard
}

// partsOfWindow is the number of measured parts of the window. The median
// counts.
const partsOfWindow = 6

// Full has 20,000 connections, or as many as a process may have descriptors.
func Full() (Shape, error) {
	s := Shape{
		Connections: 20_000, Bound: "20,000 are compared",
		Timeout: 10 * time.Second, Settle: time.Second, Window: 12 * time.Second, Spread: 6 * time.Second, Allowance: 100 * time.Millisecond,
	}
	s.pace()
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return s, fmt.Errorf("ask for the limit of descriptors: %w", err)
	}
	const reserve = 256 // descriptors of the server for other uses than connections
	if n := int(min(files.Cur, 1<<30)) - reserve; n < s.Connections {
		s.Connections, s.Bound = n-n%100, fmt.Sprintf("%d descriptors for a process", files.Cur)
	}
	if s.Connections < 100 {
		return s, fmt.Errorf("this machine allows %d connections (%s): too few", s.Connections, s.Bound)
	}
	return s, nil
}

// Quick has a few connections with a short timeout.
func Quick(connections int) Shape {
	s := Shape{
		Connections: connections, Bound: "asked for",
		Timeout: time.Second, Settle: 100 * time.Millisecond, Window: 900 * time.Millisecond, Spread: 500 * time.Millisecond, Allowance: 100 * time.Millisecond,
	}
	s.pace()
	return s
}

func (s *Shape) pace() {
	s.Every = s.Timeout / 5
	s.Drip = s.Timeout - max(s.Timeout/20, 200*time.Millisecond)
}

// Counts are the connections of each kind.
func (s *Shape) Counts() (counts [client.Kinds]int) {
	percent := [client.Kinds]int{client.Dripping: 4, client.Silent: 40, client.Frozen: 10, client.Ponging: 4, client.Deaf: 2}
	counts[client.Talking] = s.Connections
	for kind, p := range percent {
		n := s.Connections * p / 100
		counts[kind] += n
		counts[client.Talking] -= n
	}
	return counts
}

// clients divides the peers among that many processes. The frozen ones get a
// process of their own, the last.
func (s *Shape) clients(addresses []string) (configs []client.Config) {
	const mixed = 4
	counts := s.Counts()
	first := 1
	for i := range mixed + 1 {
		c := client.Config{Addresses: addresses, First: first, Timeout: s.Timeout, Every: s.Every, Drip: s.Drip}
		for kind, n := range counts {
			switch {
			case kind == int(client.Frozen) && i == mixed:
				c.Counts[kind] = n
			case kind != int(client.Frozen) && i < mixed:
				c.Counts[kind] = n*(i+1)/mixed - n*i/mixed
			}
			first += c.Counts[kind]
		}
		configs = append(configs, c)
	}
	return configs
}

// silence returns the time from the first silent peer until the end of the run.
// It is the same for all guards, since they are compared.
func (s *Shape) silence() time.Duration {
	var slack time.Duration
	for i := range guard.All {
		slack = max(slack, guard.All[i].Slack(s.Timeout))
	}
	return s.Spread + s.Timeout + slack + s.Timeout/10 + 2*s.Allowance
}
