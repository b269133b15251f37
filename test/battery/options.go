package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/scenario/namespaces"
)

// size is a flag with a number or a duration: the least value that a scenario can
// use, the default, and the value that -full sets.
type size[T int | time.Duration] struct {
	to                 *T
	name               string
	least, usual, full T
	help               string
}

func sizesOf(o *harness.Options) []size[int] {
	return []size[int]{
		{&o.Kills, "kills", 1, 200, 10_000, "kill: how often"},
		{&o.Fills, "fills", 1, 4, 200, "full-disk: how often"},
		{&o.Tasks, "tasks", 1, 1_000_000, 1_000_000, "million: how many"},
		{&o.Stuck, "stuck", 1, 10_000, 100_000, "crowd, hosts: how many tasks hang"},
		{&o.Hosts, "hosts", 1, 150, 150, "hosts: how many hosts hang"},
		{&o.Herd, "herd", 5, 50_000, 1_000_000, "second: how many tasks; first a fifth of them"},
		{&o.Drained, "drained", 1, 20_000, 300_000, "throughput: how many tasks in each of its drains"},
		{&o.Backlog, "backlog", 1, 20_000, 100_000, "fair: how many tasks one queue has before the other"},
		{&o.Overdue, "overdue", 1, 50_000, 5_000_000, "overdue: how many tasks came due while the server was down"},
		{&o.Lives, "lives", 1000, 50_000, 200_000, "life, life-redis: how many tasks in each step"},
		{&o.Rivals, "rivals", 5000, 60_000, 100_000, "namespaces: how many hosts, or queues, one namespace has"},
		{&o.RivalCron, "rival-schedules", 1, 20_000, 100_000, "namespaces: how many schedules one namespace has"},
		{&o.Ticks, "ticks", 1, 50, 200, "ticks: how often the server is killed, in two seconds each"},
		{&o.Schedules, "schedules", 1, 20_000, 100_000, "schedules: how many"},
		{&o.Deaths, "deaths", 1, 12, 200, "nodes, ticks-nodes, history, postgres-kills: how often"},
		{&o.Zombies, "zombies", 1, 6, 100, "zombie: how often"},
		{&o.Deploys, "deploys", 1, 2, 10, "deploy: how often each node is restarted"},
		{&o.Failovers, "failovers", 1, 2, 50, "failover, failover-stop, failover-split: how often, at each level; and a tenth as often, at least once, without replicas; postgres-failover: how often by kill -9, and a fifth as often by splits"},
		{&o.ClusterFailovers, "cluster-failovers", 1, 2, 20, "failover-cluster: the same"},
		{&o.RedisKills, "redis-kills", 1, 4, 50, "rediskill: how often, for each way of syncing"},
		{&o.Transactions, "transactions", 100, 3000, 100_000, "postgres-transactions: how many in each language; postgres-cancels: a tenth"},
		{&o.Standing, "standing", 10_000, 100_000, 10_000_000, "postgres-standing, migrate: how many tasks stand"},
		{&o.SlotMoves, "slot-moves", 1, 3, 20, "slots: how often 500 of them are moved"},
		{&o.Pairs, "pairs", 1, 3, 3, "compare: how many runs of each binary"},
	}
}

func timesOf(o *harness.Options) []size[time.Duration] {
	return []size[time.Duration]{
		{&o.Phase, "phase", time.Second, 10 * time.Second, 30 * time.Second, "crowd, hosts, namespaces, postgres-locks, postgres-standing: how long lateness is measured, alone (namespaces: half of it) and under load"},
		{&o.Watched, "watched", time.Second, 20 * time.Second, 2 * time.Minute, "schedules, postgres-idle: how long those are watched that fire over an hour, and nodes without work"},
		{&o.ShardLease, "shard-lease", time.Second, time.Second, 6 * time.Second, "redis: how long a silent node keeps its shards"},
		{&o.Blackout, "blackout", time.Second, 5 * time.Second, time.Minute, "blackout: how long no node lives"},
	}
}

// settle sets the values that were not given to their full sizes, if full is
// true, and refuses values that are too small.
func settle[T int | time.Duration](all []size[T], full bool, given map[string]bool) error {
	for _, s := range all {
		if full && !given[s.name] {
			*s.to = s.full
		}
		if *s.to < s.least {
			return fmt.Errorf("-%s must be at least %v", s.name, s.least)
		}
	}
	return nil
}

func parse(args []string, opts *harness.Options, stderr io.Writer) ([]scenario, error) {
	flags := flag.NewFlagSet("battery", flag.ContinueOnError)
	flags.SetOutput(stderr)
	sizes, times := sizesOf(opts), timesOf(opts)
	for _, s := range sizes {
		flags.IntVar(s.to, s.name, s.usual, s.help)
	}
	for _, s := range times {
		flags.DurationVar(s.to, s.name, s.usual, s.help)
	}
	flags.StringVar(&opts.Binary, "foliot", "", "the `binary` to drive (default: built from this tree)")
	flags.Float64Var(&opts.Cancel, "cancel", 0.10, "kill: the share of the tasks that is cancelled")
	flags.StringVar(&opts.Timeout, "timeout", "", "crowd, hosts: the timeout of the tasks that hang, such as 5m to outlive the measurement (default: the server's)")
	flags.StringVar(&opts.Attacks, "attack", "", "namespaces: only these `attacks`, as window,lists: see below")
	flags.Uint64Var(&opts.Seed, "seed", uint64(time.Now().UnixNano()), "of the random moments (default: another one each time)")
	flags.BoolVar(&opts.Keep, "keep", false, "keep logs and data")
	flags.BoolVar(&opts.Profile, "profile", false, "clients, creates, throughput, namespaces, life: keep profiles of the server (not with -foliot)")
	flags.StringVar(&opts.Compare, "compare", "", "run the scenarios with the binary of this `commit` and of this tree in turn, and print the ratios of their results (default scenarios: creates million throughput steady)")
	full := flags.Bool("full", false, "the sizes that are promised, unless a flag sets another one: minutes, and hours for kill")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "Usage: battery [flags] [scenario ...]\n\nDrives the foliot binary from outside. Without names all of these run:\n\n")
		list(stderr, scenarios)
		fmt.Fprintf(stderr, "\nOn Redis, with the redis-server of the system; %s names all of these:\n\n", redisGroup)
		list(stderr, redisScenarios)
		fmt.Fprintf(stderr, "\nOn PostgreSQL, with that of the system; %s names all of these:\n\n", postgresGroup)
		list(stderr, postgresScenarios)
		fmt.Fprintf(stderr, "\nThese measure, and run only if they are named:\n\n")
		list(stderr, measurements)
		fmt.Fprintf(stderr, "\nThe attacks of the scenario namespaces:\n\n")
		for _, a := range namespaces.All {
			fmt.Fprintf(stderr, "  %-11s %s\n", a.Name, a.What)
		}
		fmt.Fprintf(stderr, "\nExits with 0 when all have passed, 1 when one failed, 2 on bad input. Flags:\n\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if err := errors.Join(settle(sizes, *full, given), settle(times, *full, given)); err != nil {
		return nil, err
	}
	if opts.Profile && opts.Binary != "" {
		return nil, errors.New("-profile needs a binary that the battery builds: leave -foliot out")
	}
	if _, err := namespaces.Choose(opts.Attacks); err != nil {
		return nil, err
	}
	switch {
	case flags.NArg() > 0:
		return choose(flags.Args())
	case opts.Compare != "":
		return choose(compared)
	}
	return scenarios, nil
}

// The names that stand for all scenarios on Redis, and on PostgreSQL.
const redisGroup, postgresGroup = "redis", "postgres"

// choose returns the scenarios of these names.
func choose(names []string) ([]scenario, error) {
	var chosen []scenario
	all := slices.Concat(scenarios, redisScenarios, postgresScenarios, measurements)
	for _, name := range names {
		if group := map[string][]scenario{redisGroup: redisScenarios, postgresGroup: postgresScenarios}[name]; group != nil {
			chosen = append(chosen, group...)
			continue
		}
		i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no scenario %q: see --help", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func list(w io.Writer, all []scenario) {
	for _, s := range all {
		fmt.Fprintf(w, "  %-10s %s\n", s.name, s.what)
	}
}
