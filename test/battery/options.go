package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"
)

// options are the flags.
type options struct {
	binary string
	kills  int
	cancel float64 // share of the tasks that kill cancels
	tasks  int     // of million

	stuck   int           // crowd, hosts
	hosts   int           // hosts
	phase   time.Duration // crowd, hosts
	timeout string        // crowd, hosts
	herd    int           // second
	drained int           // throughput
	backlog int           // fair
	overdue int           // overdue

	attacks   string // tenants: names, "" for all
	rivals    int    // tenants
	rivalCron int    // tenants

	ticks     int           // ticks
	schedules int           // schedules
	watched   time.Duration // schedules

	shardLease, taskLease time.Duration // of nodes

	fills    int           // full-disk
	deaths   int           // nodes
	zombies  int           // zombie
	blackout time.Duration // blackout
	deploys  int           // deploy
	spread   time.Duration // balance

	failovers, clusterFailovers int // failover, failover-*
	redisKills, slotMoves       int // rediskill, slots

	seed    uint64
	keep    bool
	profile bool
}

func parse(args []string, opts *options, stderr io.Writer) ([]scenario, error) {
	flags := flag.NewFlagSet("battery", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.binary, "foliot", "", "the `binary` to drive (default: built from this tree)")
	flags.IntVar(&opts.kills, "kills", 200, "kill: how often")
	flags.Float64Var(&opts.cancel, "cancel", 0.10, "kill: the share of the tasks that is cancelled")
	flags.IntVar(&opts.tasks, "tasks", 1_000_000, "million: how many")
	flags.IntVar(&opts.stuck, "stuck", 10_000, "crowd, hosts: how many tasks hang")
	flags.IntVar(&opts.hosts, "hosts", 150, "hosts: how many hosts hang")
	flags.DurationVar(&opts.phase, "phase", 10*time.Second, "crowd, hosts, tenants: how long lateness is measured, alone (tenants: half of it) and beside")
	flags.StringVar(&opts.timeout, "timeout", "", "crowd, hosts: the timeout of the tasks that hang, such as 5m to outlive the measurement (default: the server's)")
	flags.IntVar(&opts.herd, "herd", 50_000, "second: how many tasks; first a fifth of them")
	flags.IntVar(&opts.drained, "drained", 20_000, "throughput: how many tasks in each of its four drains")
	flags.IntVar(&opts.backlog, "backlog", 20_000, "fair: how many tasks one queue has before the other")
	flags.IntVar(&opts.overdue, "overdue", 50_000, "overdue: how many tasks came due while the server was down")
	flags.IntVar(&opts.fills, "fills", 4, "full-disk: how often")
	flags.StringVar(&opts.attacks, "attack", "", "tenants: only these `attacks`, as window,lists: see below")
	flags.IntVar(&opts.rivals, "rivals", 60_000, "tenants: how many hosts, or queues, one namespace has")
	flags.IntVar(&opts.rivalCron, "rival-schedules", 20_000, "tenants: how many schedules one namespace has")
	flags.IntVar(&opts.ticks, "ticks", 50, "ticks: how often the server is killed, in two seconds each")
	flags.IntVar(&opts.schedules, "schedules", 20_000, "schedules: how many")
	flags.DurationVar(&opts.watched, "watched", 20*time.Second, "schedules: how long those are watched that fire over an hour")
	flags.DurationVar(&opts.shardLease, "shard-lease", time.Second, "redis: how long a silent node keeps its shards")
	flags.DurationVar(&opts.taskLease, "lease", 2*time.Second, "redis: how long a silent node keeps its attempts")
	flags.IntVar(&opts.deaths, "deaths", 12, "nodes, ticks-nodes: how often")
	flags.IntVar(&opts.zombies, "zombies", 6, "zombie: how often")
	flags.IntVar(&opts.deploys, "deploys", 2, "deploy: how often each node is restarted")
	flags.DurationVar(&opts.spread, "spread", 20*time.Second, "balance: over how long the tasks are due")
	flags.DurationVar(&opts.blackout, "blackout", 5*time.Second, "blackout: how long no node lives")
	flags.IntVar(&opts.failovers, "failovers", 2, "failover, failover-stop, failover-split: how often, at each level; and a tenth as often, at least once, without replicas")
	flags.IntVar(&opts.redisKills, "redis-kills", 4, "rediskill: how often, for each way of syncing")
	flags.IntVar(&opts.slotMoves, "slot-moves", 3, "slots: how often 500 of them are moved")
	flags.IntVar(&opts.clusterFailovers, "cluster-failovers", 2, "failover-cluster: the same")
	flags.Uint64Var(&opts.seed, "seed", uint64(time.Now().UnixNano()), "of the random moments (default: another one each time)")
	flags.BoolVar(&opts.keep, "keep", false, "keep logs and data")
	flags.BoolVar(&opts.profile, "profile", false, "throughput, tenants: show where the server's time goes (not with -foliot)")
	full := flags.Bool("full", false, "the sizes that are promised, where no flag says otherwise: minutes, and hours for kill")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "Usage: battery [flags] [scenario ...]\n\nDrives the foliot binary from outside. Without names all of these run:\n\n")
		list(stderr, scenarios)
		fmt.Fprintf(stderr, "\nOn Redis, with the redis-server of the system; %s names all of these:\n\n", redisGroup)
		list(stderr, redisScenarios)
		fmt.Fprintf(stderr, "\nThe attacks of tenants:\n\n")
		for _, a := range attacks {
			fmt.Fprintf(stderr, "  %-11s %s\n", a.name, a.what)
		}
		fmt.Fprintf(stderr, "\nExits with 0 when all have passed, 1 when one failed, 2 on bad input. Flags:\n\n")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if *full {
		if err := enlarge(flags); err != nil {
			return nil, err
		}
	}
	if err := opts.checkOptions(); err != nil {
		return nil, err
	}
	if _, err := chooseAttacks(opts.attacks); err != nil {
		return nil, err
	}
	if flags.NArg() == 0 {
		return scenarios, nil
	}
	return choose(flags.Args())
}

// redisGroup is the name that stands for all scenarios on Redis.
const redisGroup = "redis"

// choose returns the scenarios of these names.
func choose(names []string) ([]scenario, error) {
	var chosen []scenario
	all := slices.Concat(scenarios, redisScenarios)
	for _, name := range names {
		if name == redisGroup {
			chosen = append(chosen, redisScenarios...)
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

// fullSizes are what -full sets.
var fullSizes = map[string]string{
	"shard-lease": "6s", "lease": "15s", "deaths": "200", "zombies": "100", "blackout": "1m", "deploys": "10", "spread": "60s", "failovers": "50", "cluster-failovers": "20", "redis-kills": "50", "slot-moves": "20",
	"rivals": "100000", "rival-schedules": "100000", "ticks": "200", "schedules": "100000", "watched": "2m",
	"kills": "10000", "fills": "200", "stuck": "100000", "phase": "30s", "herd": "1000000", "drained": "300000", "backlog": "100000", "overdue": "5000000",
}

// enlarge sets the flags that were not given to their full sizes.
func enlarge(flags *flag.FlagSet) error {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, size := range fullSizes {
		if given[name] {
			continue
		}
		if err := flags.Set(name, size); err != nil {
			return err
		}
	}
	return nil
}

// checkOptions refuses what no scenario can run with.
func (o *options) checkOptions() error {
	for name, size := range map[string]int{
		"kills": o.kills, "tasks": o.tasks, "stuck": o.stuck, "hosts": o.hosts, "herd": o.herd / 5,
		"drained": o.drained, "backlog": o.backlog, "overdue": o.overdue, "rivals": o.rivals / 5000, "rival-schedules": o.rivalCron, "ticks": o.ticks, "fills": o.fills, "schedules": o.schedules, "deaths": o.deaths, "zombies": o.zombies, "deploys": o.deploys,
		"failovers": o.failovers, "cluster-failovers": o.clusterFailovers, "redis-kills": o.redisKills, "slot-moves": o.slotMoves,
	} {
		if size < 1 {
			return fmt.Errorf("-%s is too small", name)
		}
	}
	if o.phase < time.Second {
		return errors.New("-phase is below a second")
	}
	if o.watched < time.Second {
		return errors.New("-watched is below a second")
	}
	if o.profile && o.binary != "" {
		return errors.New("-profile needs a binary that the battery builds: leave -foliot out")
	}
	return nil
}
