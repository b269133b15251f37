package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/receiver"
	"github.com/foliot/foliot/test/battery/scenario/clients"
	"github.com/foliot/foliot/test/battery/scenario/directory"
	"github.com/foliot/foliot/test/battery/scenario/life"
	"github.com/foliot/foliot/test/battery/scenario/namespaces"
	"github.com/foliot/foliot/test/battery/scenario/postgres"
	"github.com/foliot/foliot/test/battery/scenario/redis"
	"github.com/foliot/foliot/test/battery/scenario/scale"
)

// scenario checks some promises. Its run ends in bounded time, even if the server
// hangs.
type scenario struct {
	name string
	what string
	run  func(context.Context, *harness.Run)
}

// scenarios are in the order in which they run.
var scenarios = []scenario{
	{"steady", "2,000 tasks due over 5 s: lost, early, duplicates, lateness", directory.Steady},
	{"kill", "kill -9 at random moments under 500 creates a second, some tasks cancelled", directory.Kill},
	{"kill-clients", "the same under crowds of creates of one Go client, which travel in batches: each caller's result is true", clients.Kill},
	{"full-disk", "a disk that fills up under creates, patches, cancels and deliveries, -fills times: acknowledged changes are kept", directory.FullDisk},
	{"cancel", "10,000 cancels at due ±5 ms: none delivered after a 200", directory.Cancel},
	{"poison", "a receiver that kills the server with each attempt: dead after 10 reclaims", directory.Poison},
	{"hang", "10,000 tasks to a host that hangs, next to 200 a second to one that replies", scale.Hang},
	{"crowd", "-stuck tasks to a host that hangs, in a queue of their own, next to 200 a second", scale.Crowd},
	{"hosts", "the same to -hosts hosts that all hang", scale.Hosts},
	{"fair", "a queue with a backlog of -backlog, and one with 100 tasks", scale.Fair},
	{"purge", "a queue purged while it delivers: its tasks stop, others do not", directory.Purge},
	{"backup", "a backup under 500 creates a second, restored elsewhere and compared", directory.Backup},
	{"ticks", "kill -9 around the ticks of schedules that fire every second: one task for each instant", directory.Ticks},
	{"creates", "64 clients creating single tasks: at least 5,000 a second", scale.Creates},
	{"million", "1,000,000 tasks by import: rate, memory, restart, listing", scale.Million},
	{"second", "-herd tasks due in one second, next to a queue with a few: none lost, memory, rate", scale.Second},
	{"overdue", "down for a day, -overdue tasks due in that time: none skipped, in order", scale.Overdue},
	{"schedules", "-schedules of them, over an hour, in a minute and at once: memory, restart, lateness", scale.Schedules},
	{"namespaces", "attacks by one namespace or by a stranger, each next to a namespace with 20 tasks a second", namespaces.OnDirectory},
	{"throughput", "deliveries a second of -drained tasks, with signatures and without", scale.Throughput},
}

// redisScenarios are those of nodes on Redis, in the order in which they run.
var redisScenarios = []scenario{
	{"nodes", "kill -9 of one of three nodes, again and again, under 500 creates a second", redis.KillNodes},
	{"ticks-nodes", "kill -9 of one of three nodes while schedules fire every second: one task for each instant", redis.Ticks},
	{"history", "kill -9 of one of three nodes, again and again, with 1,000 queues: the history adds up", redis.History},
	{"blackout", "all three nodes killed under load and started after a while", redis.Blackout},
	{"zombie", "SIGSTOP of a node until its leases have ended, tasks cancelled, SIGCONT", redis.Zombie},
	{"deploy", "graceful restarts of each of three nodes in turn, and of one that is alone", redis.Deploy},
	{"rediskill", "Redis killed -9 and started again, its file synced always, and every second", redis.KillRedis},
	{"slots", "slots moved from master to master while tasks are created and delivered", redis.MoveSlots},
	{"deaf", "every message between nodes dropped: the poll finds the tasks", redis.Mute},
	{"cut", "connections cut instead of the reply to each kind of command", redis.CutReplies},
	{"full", "a Redis without memory: creates refused, claims, settlements and cancels go on", redis.Full},
	{"namespaces-redis", "the same attacks on a node on Redis", namespaces.OnRedis},
	{"lost-settings", "the settings or the store are lost under servers that were secured: no stranger is served", redis.LostSettings},
	{"lost-store", "Redis emptied, restarted without its file, restored, replaced, turned to eviction: the reaction of three nodes, and its time", redis.LostStore},
	{"failover", "kill -9 of a master that sentinels watch, at each durability level: the losses", redis.FailoverByKill},
	{"failover-stop", "SIGSTOP of such a master until it has a successor", redis.FailoverByStop},
	{"failover-split", "such a master cut off from all but the nodes: it takes writes while a successor is chosen", redis.FailoverBySplit},
	{"failover-cluster", "kill -9 of masters of a Cluster, at each durability level", redis.FailoverCluster},
}

// postgresScenarios are those of nodes on PostgreSQL, in the order in which they run.
var postgresScenarios = []scenario{
	{"postgres-kills", "kill -9 of one of three nodes, of PostgreSQL, or of both, again and again, under creates, moves and cancels", postgres.Kill},
	{"postgres-failover", "a primary with two synchronous standbys is killed, or cut off from them, and replaced: the losses, also if the waits for standbys are cancelled", postgres.Failover},
	{"postgres-transactions", "-transactions of users over 50 names, in Go and in SQL, with rollbacks and kills of clients and of PostgreSQL: delivered is committed", postgres.Transactions},
	{"postgres-cancels", "a tenth as many cancels in transactions at due ±5 ms: none delivered after the commit", postgres.Cancels},
	{"postgres-locks", "a transaction of a user that locks 1,000 due tasks: how late others are", postgres.Locks},
	{"postgres-standing", "-standing tasks in 5,000 lanes, and a tenth as many overdue in one, at least 200,000: how late others are", postgres.Standing},
	{"postgres-idle", "nodes without work: WAL and statements; without notifications: how late tasks are", postgres.Idle},
	{"postgres-dump", "pg_dump under load, restored elsewhere: none is missing", postgres.Dump},
}

// measurements run only if they are named, because they measure more than they
// check, or need programs that few machines have.
var measurements = []scenario{
	{"life", "each step of a task's life with a directory: processor time, bytes written, memory; and the mechanisms without Foliot", life.OnDirectory},
	{"life-redis", "the same on a Redis", life.OnRedis},
	{"postgres-patroni", "three servers under Patroni and etcd: -failovers times kill -9 of the primary, a fifth as often SIGSTOP of it, and of its Patroni alone, once of etcd: lost, late", postgres.Patroni},
	{"migrate", "-standing tasks moved through directories, Redis and PostgreSQL in all six directions, with a kill -9 of each move: none is lost, early, twice, or changed", postgres.Migrate},
	{"clients", "creates a second of one Go client next to an empty net/http server, latencies, and a request that stalls", clients.Speed},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run carries out the named scenarios. It returns 0 if all have passed, 1 if
// one failed, and 2 if the arguments are invalid.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if helper := helperCommand(args); helper != nil {
		if err := helper(ctx, os.Stdin, stdout); err != nil {
			fmt.Fprintf(stderr, "battery: %s: %v\n", args[0], err)
			return 1
		}
		return 0
	}
	var opts harness.Options
	chosen, err := parse(args, &opts, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "battery:", err)
		return 2
	}
	dir, err := os.MkdirTemp("", "foliot-battery-")
	if err != nil {
		fmt.Fprintln(stderr, "battery:", err)
		return 1
	}
	var failed int
	if opts.Compare != "" {
		err = compare(ctx, chosen, opts, dir, stdout)
	} else {
		failed, err = runAll(ctx, chosen, opts, dir, stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "battery:", err)
	}
	if opts.Keep || opts.Profile || failed > 0 || err != nil {
		fmt.Fprintf(stdout, "logs and data are kept in %s\n", dir)
	} else if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(stderr, "battery:", err)
	}
	if failed > 0 || err != nil {
		return 1
	}
	return 0
}

// helperCommand returns the command of a process that the battery has started.
// It returns nil if args are those of a user.
func helperCommand(args []string) func(ctx context.Context, in io.Reader, out io.Writer) error {
	switch {
	case len(args) == 3 && args[0] == receiver.FastCommand:
		return func(_ context.Context, in io.Reader, out io.Writer) error {
			return receiver.RunFast(args[1], args[2], in, out)
		}
	case len(args) == 1 && args[0] == clients.Command:
		return clients.RunEmpty
	case len(args) == 5 && args[0] == postgres.Command:
		return func(ctx context.Context, in io.Reader, _ io.Writer) error {
			return postgres.RunClient(ctx, args[1:], in)
		}
	case len(args) == 1 && args[0] == namespaces.Command:
		return namespaces.RunAttacker
	}
	return nil
}

// runAll runs scenarios and returns how many failed. An error is a failure of
// the battery, not of the server.
func runAll(ctx context.Context, chosen []scenario, opts harness.Options, dir string, stdout io.Writer) (failed int, err error) {
	if opts.Binary == "" {
		if opts.Binary, err = harness.Build(ctx, dir, opts.Profile); err != nil {
			return 0, err
		}
	}
	fmt.Fprintf(stdout, "seed %d\n", opts.Seed)
	for _, s := range chosen {
		ok, _, err := runOne(ctx, s, opts, filepath.Join(dir, s.name), stdout)
		if err != nil {
			return failed, err
		}
		if !ok {
			failed++
		}
	}
	return failed, nil
}

// runOne carries out one scenario. An error is a failure of the battery, not of
// the server.
func runOne(ctx context.Context, s scenario, opts harness.Options, dir string, stdout io.Writer) (ok bool, figures []harness.Figure, err error) {
	t := &harness.Run{Options: opts, Dir: dir, Out: stdout, Rand: rand.New(rand.NewPCG(opts.Seed, 0))}
	if err := os.Mkdir(t.Dir, 0o700); err != nil {
		return false, nil, err
	}
	fmt.Fprintf(stdout, "\n%s: %s\n", s.name, s.what)
	syscall.Sync() // earlier writes, such as a compiler's, must not delay the measured syncs
	began := time.Now()
	if err := t.Try(func() { s.run(ctx, t) }); err != nil {
		t.Must(false, "the run ended early: %v", err)
	}
	fmt.Fprintf(stdout, "  %s in %.1f s\n", t.Result(), time.Since(began).Seconds())
	return !t.Failed, t.Figures, ctx.Err()
}
