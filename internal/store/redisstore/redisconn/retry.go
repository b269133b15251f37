package redisconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/task"
)

// The waits between the tries of a call that the server could not take: it is
// being replaced, a slot moves, the connection broke.
const (
	firstWait   = 5 * time.Millisecond
	longestWait = 200 * time.Millisecond
	RetryTime   = 2 * time.Second // from the first try to the last
)

// TryTime bounds one try, beside what it waits for replicas, dialTime that of a
// connection. So a call ends after RetryTime and TryTime, whatever its caller's context says.
const (
	TryTime  = 5 * time.Second
	dialTime = 2 * time.Second
)

// maxRedirects is how often one try follows MOVED and ASK: while a slot changes
// hands two servers may each name the other, and the client would go to and fro
// between them for as long as they do.
const maxRedirects = 4

// tuned returns o as a store needs its client to be.
func tuned(o rueidis.ClientOption) rueidis.ClientOption {
	// The client by itself repeats reads whose connection broke. It then uses the
	// memory of their commands again, while the goroutine that writes to the broken
	// connection may still be reading it: pipe._backgroundRead answers what
	// _backgroundWrite has not written yet, and DoMulti puts the commands of its second try
	// back into their pool (rueidis 1.0.79; a data race). A command that failed it leaves
	// alone. So what is repeated is repeated here, by retry, with commands of its own.
	o.DisableRetry = true
	// Without pipelining the client closes a connection when a call's time ends. Heartbeats
	// and leases would then wait for a new connection to a server that hangs, which no
	// context ends.
	o.AlwaysPipelining = true
	o.ClusterOption.MaxMovedRedirections = cmp.Or(o.ClusterOption.MaxMovedRedirections, maxRedirects)
	o.Dialer.Timeout = cmp.Or(o.Dialer.Timeout, dialTime)
	o.ConnWriteTimeout = cmp.Or(o.ConnWriteTimeout, TryTime)
	return o
}

// forSubscriptions returns o for the client that only listens. Its connections are its own:
// Redis closes one that subscribes when replies wait there that it would hold for any
// other (client-output-buffer-limit pubsub: 8 MB for a minute), and all calls with it.
func forSubscriptions(o rueidis.ClientOption) rueidis.ClientOption {
	o.ReadBufferEachConn, o.WriteBufferEachConn = 16<<10, 16<<10
	return o
}

// Command makes a command. It is called once for each try: the client uses the
// memory of what it has sent again.
type Command func(rueidis.Builder) rueidis.Completed

// Ask sends commands that may be repeated, in one pipeline, and returns their
// replies. None of them is an error, but rueidis.Nil.
func (s *Servers) Ask(ctx context.Context, commands ...Command) ([]rueidis.RedisResult, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	return retry(ctx, s, TryTime, commands, func(ctx context.Context, part []Command) []rueidis.RedisResult {
		built := make(rueidis.Commands, len(part))
		for i, make := range part {
			built[i] = make(s.Client.B())
		}
		return s.Client.DoMulti(ctx, built...)
	})
}

// One is ask for a single command.
func (s *Servers) One(ctx context.Context, c Command) (rueidis.RedisResult, error) {
	results, err := s.Ask(ctx, c)
	if err != nil {
		return rueidis.RedisResult{}, err
	}
	return results[0], nil
}

// EachShard is Ask for one command for each of shards.
func (s *Servers) EachShard(ctx context.Context, shards []*keyspace.Shard, of func(rueidis.Builder, *keyspace.Shard) rueidis.Completed) ([]rueidis.RedisResult, error) {
	commands := make([]Command, len(shards))
	for i, sh := range shards {
		commands[i] = func(b rueidis.Builder) rueidis.Completed { return of(b, sh) }
	}
	return s.Ask(ctx, commands...)
}

// Repeat runs a script that may be repeated and needs no replica's word.
func (s *Servers) Repeat(ctx context.Context, sc *Script, runs ...Run) ([]rueidis.RedisResult, error) {
	return retry(ctx, s, TryTime, runs, func(ctx context.Context, part []Run) []rueidis.RedisResult {
		return sc.Do(ctx, s.Client, part)
	})
}

// retry runs do for runs, and once more for those of them whose server was not
// to be reached or not ready, for RetryTime at most; one try takes at
// most limit. Of errors only that there is nothing, or no memory, stand in the results.
// Errors: task.ErrUnavailable after RetryTime, and what else a server says.
func retry[R any, A interface{ Error() error }](ctx context.Context, s *Servers, limit time.Duration, runs []R, do func(context.Context, []R) []A) ([]A, error) {
	results, open, began := make([]A, len(runs)), make([]int, len(runs)), time.Now()
	for i := range open {
		open[i] = i
	}
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		part := make([]R, len(open))
		for i, at := range open {
			part[i] = runs[at]
		}
		var failed []int
		var last error
		once, stop := s.Once(ctx, limit)
		replies := do(once, part)
		stop()
		for i, r := range replies {
			results[open[i]] = r
			switch err := r.Error(); {
			case err == nil, rueidis.IsRedisNil(err), OutOfMemory(err):
			case s.passing(err):
				failed, last = append(failed, open[i]), err
			case overdue(err):
				return nil, s.late(ctx, err, time.Since(began))
			default:
				return nil, err
			}
		}
		if len(failed) == 0 {
			return results, nil
		}
		if took := time.Since(began); took >= RetryTime || !s.Pause(ctx, wait) {
			return nil, unavailable(last, took)
		}
		open = failed
	}
}

// Once returns a context for one try: it ends after limit, and soon after stop.
func (s *Servers) Once(ctx context.Context, limit time.Duration) (context.Context, func()) {
	ctx, stop := context.WithTimeout(ctx, limit)
	unhook := context.AfterFunc(s.Lifetime, stop)
	return ctx, func() { unhook(); stop() }
}

// Pause waits, and returns false where ctx or the store ended before.
func (s *Servers) Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-s.closing:
	}
	return false
}

// passing reports whether err is of a kind that ends by itself: a server that
// is being replaced or started, a slot that moves, a connection that broke.
func (s *Servers) passing(err error) bool {
	switch {
	case errors.Is(err, task.ErrNotDurable), errors.Is(err, errDamaged), overdue(err):
		return false
	case errors.Is(err, rueidis.ErrClosing): // the client closes connections that it replaces
		select {
		case <-s.closing:
			return false
		default:
			return true
		}
	}
	reply, ok := rueidis.IsRedisErr(err)
	return !ok || meaning(reply) != "" // not ok: the connection
}

// overdue reports whether err says that a try took too long.
func overdue(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// late returns what to say of a try that took too long, or was given up.
func (s *Servers) late(ctx context.Context, err error, took time.Duration) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case s.Lifetime.Err() != nil:
		return task.ErrClosed
	}
	return unavailable(err, took)
}

// unavailable returns the one error of calls whose servers could not be used.
func unavailable(err error, took time.Duration) error {
	why := "the connection to Redis broke"
	reply, ok := rueidis.IsRedisErr(err)
	switch {
	case ok:
		why = meaning(reply)
	case errors.Is(err, syscall.ECONNREFUSED):
		why = "no Redis listens at that address: see that it runs"
	case overdue(err), errors.Is(err, os.ErrDeadlineExceeded):
		why = "Redis did not answer: see that it runs, and has time to"
	case errors.Is(err, errNoNode), errors.Is(err, rueidis.ErrNoSlot):
		why = "no server is known for a part of the tasks: see that the Redis Cluster is whole (redis-cli --cluster check)"
	}
	return fmt.Errorf("%w: for %v %s; what was asked for may have been done, and may be repeated: %w", task.ErrUnavailable, took.Round(time.Millisecond), why, err)
}

// meaning says what a reply means that stands for something that ends by
// itself, and what to do where it does not. "": it is of another kind.
func meaning(reply *rueidis.RedisError) string {
	_, moved := reply.IsMoved()
	_, ask := reply.IsAsk()
	switch {
	case moved, ask, reply.IsTryAgain():
		return "a slot of the Redis Cluster was on its way from one server to another (if that lasts: redis-cli --cluster check, and fix)"
	case reply.IsClusterDown():
		return "a part of the Redis Cluster had no master (if that lasts: redis-cli --cluster check)"
	case reply.IsLoading():
		return "Redis was reading its file after a start (its log says how far it is)"
	case strings.HasPrefix(reply.Error(), "READONLY"):
		return "the server that was asked was a replica: another is or becomes the master (if that lasts, name the master, a Sentinel or a Cluster by --store)"
	case strings.HasPrefix(reply.Error(), "MASTERDOWN"):
		return "the server that was asked was a replica without a master (if that lasts: see that the master runs)"
	case strings.HasPrefix(reply.Error(), "UNBLOCKED"):
		return "the master lost its place to another server"
	case strings.HasPrefix(reply.Error(), "NOREPLICAS"):
		return "the master takes no writes, since too few replicas follow it: see that they run (its min-replicas-to-write says how many)"
	case strings.HasPrefix(reply.Error(), "BUSY "):
		return "Redis was busy with a script that takes long, of somebody else: see who shares it (redis-cli CLIENT LIST)"
	case strings.HasPrefix(reply.Error(), "MISCONF"):
		return "Redis could not write its file, and takes nothing until it can: see its log, and its disk"
	}
	return ""
}

// OutOfMemory reports whether a full server refused a script.
func OutOfMemory(err error) bool { return strings.HasPrefix(err.Error(), "OOM ") }
