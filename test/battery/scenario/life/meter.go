package life

import (
	"context"
	"os"
	"strconv"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/system"
)

// processes are the two sides of a step. A baseline may have both in one process,
// which then counts as the server.
type processes struct{ server, peer int }

// fromClients returns the sides while clients of this process use the server.
func (l *life) fromClients() processes { return processes{l.Server.PID(), os.Getpid()} }

// toReceiver returns the sides while the server calls the receiver.
func (l *life) toReceiver() processes { return processes{l.Server.PID(), l.fast.Cmd.Process.Pid} }

// measure runs a step for a number of tasks, and adds its row.
func (l *life) measure(ctx context.Context, name string, tasks int, of processes, do func()) {
	before := l.read(ctx, of)
	do()
	after := l.read(ctx, of)
	l.add(row{
		name: name, tasks: tasks,
		server: after.server - before.server, peer: after.peer - before.peer, redis: after.redis - before.redis,
		written: after.written - before.written,
	})
}

// read returns the use of resources so far. written is the size of the file of
// Redis, or the bytes that the server has written if there is no Redis.
func (l *life) read(ctx context.Context, of processes) (r row) {
	r.server = harness.OK(system.CPUOf(of.server))
	if of.peer != 0 {
		r.peer = harness.OK(system.CPUOf(of.peer))
	}
	if l.redis == nil {
		r.written = harness.OK(system.WrittenBy(of.server))
		return r
	}
	r.redis = harness.OK(system.CPUOf(int(l.info(ctx, "process_id"))))
	r.written = l.info(ctx, "aof_current_size")
	return r
}

// info returns a number of the INFO of Redis.
func (l *life) info(ctx context.Context, name string) int64 {
	fields := harness.OK(redistest.Info(ctx, l.redis.Addr))
	return harness.OK(strconv.ParseInt(fields[name], 10, 64))
}
