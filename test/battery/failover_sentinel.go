package main

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// errNoSuccessor: the old master has no successor yet.
var errNoSuccessor = errors.New("no other server became the master")

// watched is a ward of a master, two replicas and three sentinels.
type watched struct {
	*redistest.Sentinels
	how    affliction
	master int // its place
	next   int // that of its successor
}

// affliction is what is done to a master, and what undoes it.
type affliction struct {
	inflict func(w *watched)
	undo    func(ctx context.Context, w *watched) error
	proxied bool
}

// killing: kill -9, and started again as a replica of its successor.
var killing = affliction{
	inflict: func(w *watched) { w.Servers[w.master].Kill() },
	undo: func(_ context.Context, w *watched) error {
		host, port, err := net.SplitHostPort(w.Addr(w.next))
		if err != nil {
			return err
		}
		return w.Servers[w.master].Restart("--replicaof", host+" "+port)
	},
}

// stopping: SIGSTOP, and let go on when there is a successor: what was sent to
// it meanwhile it then carries out and answers, until it hears of that.
var stopping = affliction{
	inflict: func(w *watched) { w.Servers[w.master].Pause() },
	undo: func(ctx context.Context, w *watched) error {
		w.Servers[w.master].Resume()
		return w.depose(ctx)
	},
}

// splitting: replicas and sentinels do not reach it any more, and the nodes do,
// so that it takes writes while its successor is chosen.
var splitting = affliction{
	proxied: true,
	inflict: func(w *watched) { w.Proxies[w.master].FreezeBut("foliot") },
	undo: func(ctx context.Context, w *watched) error {
		w.Proxies[w.master].Cut()
		w.Proxies[w.master].Thaw()
		return w.depose(ctx)
	},
}

// reign is how long an old master still believes in itself. The sentinels would
// leave it in that for ten seconds.
const reign = 2 * time.Second

// depose tells an old master, after a while, of its successor.
func (w *watched) depose(ctx context.Context) error {
	timing.Pause(ctx, reign)
	host, port, err := net.SplitHostPort(w.Addr(w.next))
	if err != nil {
		return err
	}
	if err := forgive(ctx, w.Servers[w.master]); err != nil {
		return err
	}
	return order(ctx, w.Servers[w.master], "REPLICAOF", host, port)
}

func failOverKilled(ctx context.Context, t *harness.Run) error {
	return failOver(ctx, t, "kill -9", t.Options.Failovers, openWatched(killing))
}

func failOverStopped(ctx context.Context, t *harness.Run) error {
	return failOver(ctx, t, "SIGSTOP", t.Options.Failovers, openWatched(stopping))
}

func failOverSplit(ctx context.Context, t *harness.Run) error {
	return failOver(ctx, t, "split", t.Options.Failovers, openWatched(splitting))
}

// redisArgs are those of a server that a level wants.
func redisArgs(level string) []string {
	if level != "strict" {
		return nil
	}
	return []string{"--appendfsync", "always", "--min-replicas-to-write", "1", "--min-replicas-max-lag", "10"}
}

func openWatched(how affliction) func(dir, level string) (ward, error) {
	return func(dir, level string) (ward, error) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		s, err := redistest.StartSentinels(dir, how.proxied, redisArgs(level)...)
		if err != nil {
			s.Close()
			return nil, err
		}
		return &watched{Sentinels: s, how: how}, nil
	}
}

func (w *watched) url() string {
	addrs := make([]string, len(w.Sentinels.Sentinels))
	for i, s := range w.Sentinels.Sentinels {
		addrs[i] = s.Addr
	}
	return "redis+sentinel://" + strings.Join(addrs, ",") + "/" + redistest.MasterName
}

func (w *watched) victim(context.Context) (*redistest.Server, error) {
	return w.Servers[w.master], nil
}

func (w *watched) strike() { w.how.inflict(w) }

func (w *watched) promoted(ctx context.Context) error {
	if w.next = w.Master(ctx); w.next < 0 || w.next == w.master {
		return errNoSuccessor
	}
	return nil
}

func (w *watched) heal(ctx context.Context) error {
	if err := w.how.undo(ctx, w); err != nil {
		return err
	}
	return redistest.Poll(ctx, func(ctx context.Context) error {
		if m := w.Master(ctx); m >= 0 {
			w.master = m // on a busy machine another than the successor: the sentinels have doubted that, too
		}
		return w.Agreed(ctx, w.master)
	})
}

func (w *watched) promotions(ctx context.Context) (int, error) { return w.Promotions(ctx) }

func (w *watched) close() { w.Close() }
