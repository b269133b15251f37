package load

import (
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/foliot/foliot/bench/idle/client"
	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/record"
)

// Shape is how many connections of which kinds there are, and when what happens.
type Shape struct {
	Connections int
	Bound       string // what keeps them from being more
	Timeout     time.Duration
	Every       time.Duration // how often peers talk
	Drip        time.Duration // how often others drip
	Settle      time.Duration // rest before anything is measured
	Window      time.Duration // in which all talk and CPU is measured
	Spread      time.Duration // within which they fall silent
	Allowance   time.Duration // for the wake-ups of two processes, beyond what a guard promises
}

// partsOfWindow is how many parts of the window are measured: the median is what counts.
const partsOfWindow = 6

// Full is as many connections as the machine allows.
func Full() (Shape, error) {
	s := Shape{
		Timeout: 10 * time.Second, Settle: time.Second, Window: 12 * time.Second, Spread: 6 * time.Second, Allowance: 100 * time.Millisecond,
	}
	s.paceAt(s.Timeout / 5)
	if err := s.fill(); err != nil {
		return s, err
	}
	// Beyond this pace the processors are busy with messages, and every lateness is theirs.
	pace := time.Duration(s.Connections) * time.Second / time.Duration(messages())
	s.paceAt(max(s.Every, pace))
	return s, nil
}

// Quick is a few connections with a short timeout.
func Quick(connections int) Shape {
	s := Shape{
		Connections: connections, Bound: "asked for",
		Timeout: time.Second, Settle: 100 * time.Millisecond, Window: 900 * time.Millisecond, Spread: 500 * time.Millisecond, Allowance: 100 * time.Millisecond,
	}
	s.paceAt(s.Timeout / 5)
	return s
}

func (s *Shape) paceAt(every time.Duration) {
	s.Every = every
	s.Drip = s.Timeout - max(s.Timeout/20, 200*time.Millisecond)
}

// messages is how many the machine shall take each second.
func messages() int { return 10_000 * runtime.NumCPU() }

// fill chooses the number of connections.
func (s *Shape) fill() error {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("ask for the limit of descriptors: %w", err)
	}
	const (
		reserve       = 256 // descriptors of the server that are no connections
		perConnection = 64 << 10
	)
	s.Connections, s.Bound = int(min(files.Cur, 1<<30))-reserve, fmt.Sprintf("%d descriptors for a process", files.Cur)
	for _, bound := range []struct {
		n    int
		what string
	}{
		{int(record.FreeMemoryGiB() * (1 << 30) / 2 / perConnection), "half of the free memory"},
		{int(s.Timeout.Seconds() / 3 * float64(messages())), "messages that the processors take"},
		{addresses * 25_000, "ports"},
	} {
		if bound.n > 0 && bound.n < s.Connections {
			s.Connections, s.Bound = bound.n, bound.what
		}
	}
	if s.Connections < 100 {
		return fmt.Errorf("this machine allows %d connections (%s): too few", s.Connections, s.Bound)
	}
	s.Connections -= s.Connections % 100
	return nil
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

// clients shares the peers among so many processes, and puts the frozen ones into one of their own, the last.
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

// Expected is about how long one guard takes.
func (s *Shape) Expected() time.Duration {
	opening := time.Duration(s.Connections) * 250 * time.Microsecond
	return opening + 2*s.Settle + s.Every + s.Window + s.silence()
}

// silence is how long after the first peer falls silent what is still open stays open: the same for all guards, for they are compared.
func (s *Shape) silence() time.Duration {
	var slack time.Duration
	for i := range guard.All {
		slack = max(slack, guard.All[i].Slack(s.Timeout))
	}
	return s.Spread + s.Timeout + slack + s.Timeout/10 + 2*s.Allowance
}
