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

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// The waits between two tries of a call that the server could not take: the
// server is being replaced, a slot moves, or the connection broke.
const (
	firstWait   = 5 * time.Millisecond
	longestWait = 200 * time.Millisecond
	RetryTime   = 2 * time.Second // from the first try to the last
)

// TryTime bounds one try, without the time that it waits for replicas. dialTime
// bounds the opening of a connection. So a call ends after RetryTime plus
// TryTime even if its caller's context allows more.
const (
	TryTime  = 5 * time.Second
	dialTime = 2 * time.Second
)

// maxRedirects is how often one try follows MOVED and ASK. While a slot changes
// its master, two servers can each name the other, and the client would be sent
// back and forth until the move ends.
const maxRedirects = 4

// tuned returns o with the settings that a store needs in its client.
func tuned(o rueidis.ClientOption) rueidis.ClientOption {
	// If the client repeats reads after their connection broke, it reuses the
	// memory of commands that another goroutine may still be reading (rueidis
	// 1.0.79: pipe._backgroundRead answers commands that _backgroundWrite has not
	// written yet). It does not reuse a command that failed, so retry does all
	// repeating, with new commands.
	o.DisableRetry = true
	// Without pipelining the client closes a connection when the context of a
	// call ends. Heartbeats and lease renewals would have to wait for a new
	// connection to a server that hangs, and no context ends that wait.
	o.AlwaysPipelining = true
	o.ClusterOption.MaxMovedRedirections = cmp.Or(o.ClusterOption.MaxMovedRedirections, maxRedirects)
	o.Dialer.Timeout = cmp.Or(o.Dialer.Timeout, dialTime)
	o.ConnWriteTimeout = cmp.Or(o.ConnWriteTimeout, TryTime)
	return o
}

// Command builds a command. It is called once for each try, because the client
// reuses the memory of commands that it has sent.
type Command func(rueidis.Builder) rueidis.Completed

// Ask sends commands that can be repeated, in one pipeline, and returns their
// replies. If Ask succeeds, the replies contain no error except rueidis.Nil.
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

// Read is Ask, and decodes each reply with as. A missing value is the zero T.
func Read[T any](ctx context.Context, s *Servers, as func(rueidis.RedisResult) (T, error), commands ...Command) ([]T, error) {
	results, err := s.Ask(ctx, commands...)
	return decode(results, err, as)
}

// ReadOne is Read for one command.
func ReadOne[T any](ctx context.Context, s *Servers, as func(rueidis.RedisResult) (T, error), c Command) (t T, err error) {
	all, err := Read(ctx, s, as, c)
	if err != nil {
		return t, err
	}
	return all[0], nil
}

// ReadRuns is Repeat, and decodes each reply with as.
func ReadRuns[T any](ctx context.Context, s *Servers, as func(rueidis.RedisResult) (T, error), sc *Script, runs ...Run) ([]T, error) {
	results, err := s.Repeat(ctx, sc, runs...)
	return decode(results, err, as)
}

func decode[T any](results []rueidis.RedisResult, err error, as func(rueidis.RedisResult) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	all := make([]T, len(results))
	for i, r := range results {
		if all[i], err = as(r); err != nil && !rueidis.IsRedisNil(err) {
			return nil, err
		}
	}
	return all, nil
}

// EachOf returns a command for each element of list.
func EachOf[T any](list []T, of func(rueidis.Builder, T) rueidis.Completed) []Command {
	commands := make([]Command, len(list))
	for i, x := range list {
		commands[i] = func(b rueidis.Builder) rueidis.Completed { return of(b, x) }
	}
	return commands
}

// Repeat runs a script that can be repeated, and that no replica needs to
// confirm.
func (s *Servers) Repeat(ctx context.Context, sc *Script, runs ...Run) ([]rueidis.RedisResult, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	return retry(ctx, s, TryTime, runs, func(ctx context.Context, part []Run) []rueidis.RedisResult {
		return sc.Do(ctx, s.Client, part)
	})
}

// retry calls do for runs. It repeats the runs that failed because their server
// was unreachable or not ready, until RetryTime has passed. One try takes at
// most limit. If retry returns nil, the results contain no errors except
// rueidis.Nil and out of memory. Errors: task.ErrUnavailable after RetryTime,
// and other errors that a server returns.
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

// Once returns a context for one try, which ends after limit, or soon after Stop.
func (s *Servers) Once(ctx context.Context, limit time.Duration) (context.Context, func()) {
	ctx, stop := context.WithTimeout(ctx, limit)
	unhook := context.AfterFunc(s.Lifetime, stop)
	return ctx, func() { unhook(); stop() }
}

// Pause waits for d. It returns false if ctx or the store ended first.
func (s *Servers) Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	case <-s.closing:
		return false
	}
}

// Await waits for the next multiple of a period since the store was opened, so
// the periodic calls of all goroutines go to the servers together. It returns
// false if ctx or the store ended first.
func (s *Servers) Await(ctx context.Context, period time.Duration) bool {
	return s.Pause(ctx, s.UntilNext(period))
}

// UntilNext returns the time until the next multiple of a period since the
// store was opened.
func (s *Servers) UntilNext(period time.Duration) time.Duration {
	return period - time.Since(s.opened)%period
}

// passing reports whether err is a failure that ends by itself: a server is
// being replaced or started, a slot moves, or a connection broke.
func (s *Servers) passing(err error) bool {
	switch {
	case errors.Is(err, task.ErrNotDurable), errors.Is(err, codec.ErrDamaged), overdue(err):
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
	return !ok || meaning(reply) != "" // not ok: the connection failed
}

// overdue reports whether err means that a try took too long.
func overdue(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// late returns the error for a try that took too long or was given up.
func (s *Servers) late(ctx context.Context, err error, took time.Duration) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case s.Lifetime.Err() != nil:
		return task.ErrClosed
	}
	return unavailable(err, took)
}

// unavailable returns the error of calls that could not use their servers.
func unavailable(err error, took time.Duration) error {
	why := "the connection to Redis broke"
	reply, ok := rueidis.IsRedisErr(err)
	switch {
	case ok:
		why = meaning(reply)
	case errors.Is(err, syscall.ECONNREFUSED):
		why = "no Redis listens at that address: check that it runs"
	case overdue(err), errors.Is(err, os.ErrDeadlineExceeded):
		why = "Redis did not answer: check that it runs and is not overloaded"
	case errors.Is(err, errReplaced):
		why = replaced
	case errors.Is(err, errNoNode), errors.Is(err, rueidis.ErrNoSlot):
		why = "no server is known for some slots of the Redis Cluster: check that all slots are covered (redis-cli --cluster check)"
	}
	return fmt.Errorf("%w: for %v %s; the request may have been carried out, and may be repeated: %w", task.ErrUnavailable, took.Round(time.Millisecond), why, err)
}

// meaning explains a reply that means a failure that ends by itself, and says
// how to act if the failure lasts. It returns "" for any other reply.
func meaning(reply *rueidis.RedisError) string {
	for _, m := range meanings {
		if strings.HasPrefix(reply.Error(), m.prefix) {
			return m.means
		}
	}
	return ""
}

const (
	slotMoves = "a slot of the Redis Cluster was moving from one server to another (if that lasts: redis-cli --cluster check, and fix)"
	replaced  = "another server replaced the master"
)

var meanings = []struct{ prefix, means string }{
	{"MOVED ", slotMoves},
	{"ASK ", slotMoves},
	{"TRYAGAIN ", slotMoves},
	{"CLUSTERDOWN", "some slots of the Redis Cluster had no master (if that lasts: redis-cli --cluster check)"},
	{"LOADING", "Redis was reading its file after a start (its log shows the progress)"},
	{"READONLY", "the server is a replica, and another server is or becomes the master (if that lasts: name the master, a Sentinel or a Cluster in the URL of the store)"},
	{"MASTERDOWN", "the server is a replica without a master (if that lasts: check that the master runs)"},
	{"UNBLOCKED", replaced},
	{"NOREPLICAS", "the master refuses writes because too few replicas follow: check that the replicas run (min-replicas-to-write of the master is the number that must follow)"},
	{"BUSY ", "Redis was busy with a long script of another client: find the client (redis-cli CLIENT LIST)"},
	{"MISCONF", "Redis could not write its file or a snapshot: check its log, its disk and vm.overcommit_memory (1 is right); if you need no snapshots, run CONFIG SET save \"\" and CONFIG REWRITE"},
}

// OutOfMemory reports whether err is the refusal of a script by a full server.
func OutOfMemory(err error) bool { return strings.HasPrefix(err.Error(), "OOM ") }
