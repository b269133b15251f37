package redis

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/verify"
)

const (
	faultRate  = 300 // creates a second, while Redis has faults
	faultAhead = time.Second
	faultShare = 0.05 // the share of these tasks that is cancelled
)

// underFaults creates tasks during fault. It judges after all expected tasks have arrived.
func underFaults(ctx context.Context, t *harness.Run, sub, url string, fault func(n *harness.Environment)) verify.Verdict {
	e, load := evidenceOf(ctx, t, sub, url, faultAhead, fault)
	v := verify.Check(e)
	t.Note("faults %d, creates answered %d, not at all %d, duplicates %d", v.Faults, v.Accepted, load.Unanswered, v.Duplicates)
	t.Lateness("of first arrivals, after faults too", v.Late)
	t.Must(len(v.Early) == 0, "early %d%s", len(v.Early), verify.Examples(v.Early))
	return v
}

// evidenceOf runs two nodes on the store at url with their logs below sub, and
// creates tasks at both, due up to ahead from then, during fault.
func evidenceOf(ctx context.Context, t *harness.Run, sub, url string, ahead time.Duration, fault func(n *harness.Environment), flags ...string) (verify.Evidence, *harness.Load) {
	n := t.PrepareNodes(sub, 2, url, append([]string{"--shard-lease", "1s"}, flags...)...)
	n.StartAll(ctx)
	load := &harness.Load{Environment: n, Target: n.Endpoints, Rate: faultRate, DueWithin: ahead, CancelShare: faultShare}
	n.Carry(ctx, harness.Phases{
		Load: load, WarmUp: time.Second, // the nodes share the shards by then
		Attack: func() { fault(n) },
		Drain:  15 * time.Second, Quiet: 4500 * time.Millisecond,
	})
	return n.Evidence(), load
}

// mustKeep checks the promises for a Redis that loses no data.
func mustKeep(t *harness.Run, v verify.Verdict) {
	t.Must(v.Accepted > 0 && len(v.Lost) == 0, "lost %d of %d%s", len(v.Lost), v.Accepted, verify.Examples(v.Lost))
	t.Must(len(v.AfterCancel) == 0, "delivered after a cancel's 200: %d%s", len(v.AfterCancel), verify.Examples(v.AfterCancel))
	t.Must(len(v.OtherID) == 0, "duplicates under another webhook-id %d%s", len(v.OtherID), verify.Examples(v.OtherID))
}

// mustDelays prints the delays and compares them with the promise for the death
// of a node. Tasks that the node had not claimed arrive within its shard lease
// and a second. Tasks in flight arrive within their own lease and a second.
func mustDelays(n *harness.Environment) {
	d := n.Evidence().Delays()
	mustArriveWithin(n.Run, "untouched by a fault", d.Untouched, n.Run.Options.ShardLease+time.Second)
	mustArriveWithin(n.Run, "that were due at a fault, after it", d.Touched, n.Run.Options.TaskLease()+time.Second)
}

// mustArriveWithin prints how late some tasks were, and compares the latest
// with a bound.
func mustArriveWithin(t *harness.Run, what string, late []time.Duration, bound time.Duration) {
	t.Lateness(what, late)
	most := verify.Percentile(late, 100)
	t.Must(most <= bound, "the latest of %d %s: %s, at most %v", len(late), what, verify.Millis(most), bound)
}

// startCluster starts a Redis Cluster in dir. It is closed when the part ends.
func startCluster(t *harness.Run, dir string, masters, replicas int, args ...string) *redistest.Cluster {
	harness.Check(os.MkdirAll(dir, 0o700))
	c, err := redistest.StartCluster(dir, masters, replicas, args...)
	t.Cleanup(c.Close)
	harness.Check(err)
	return c
}

// detachReplicas removes the replicas of a master, and lets none connect again.
// The clients of the master stay connected.
func detachReplicas(ctx context.Context, s *redistest.Server) {
	sendCommand(ctx, s, "ACL", "SETUSER", "default", "-psync", "-sync")
	sendCommand(ctx, s, "CLIENT", "KILL", "TYPE", "replica")
}

// allowReplicas undoes detachReplicas, unless the server was started again.
func allowReplicas(ctx context.Context, s *redistest.Server) {
	sendCommand(ctx, s, "ACL", "SETUSER", "default", "+@all")
}

// sendCommand sends a command that must not fail.
func sendCommand(ctx context.Context, s *redistest.Server, words ...string) {
	reply, err := redistest.Command(ctx, s.Addr, words...)
	if err != nil || strings.HasPrefix(reply, "-") {
		harness.Fatalf("%s to the Redis at %s: %s, error %w", words[0], s.Addr, strings.TrimPrefix(reply, "-"), err)
	}
}
