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

func parse(args []string, opts *harness.Options, stderr io.Writer) ([]scenario, error) {
	flags := flag.NewFlagSet("battery", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&opts.Binary, "foliot", "", "the `binary` to drive (default: built from this tree)")
	flags.IntVar(&opts.Kills, "kills", 200, "kill: how often")
	flags.Float64Var(&opts.Cancel, "cancel", 0.10, "kill: the share of the tasks that is cancelled")
	flags.IntVar(&opts.Tasks, "tasks", 1_000_000, "million: how many")
	flags.IntVar(&opts.Stuck, "stuck", 10_000, "crowd, hosts: how many tasks hang")
	flags.IntVar(&opts.Hosts, "hosts", 150, "hosts: how many hosts hang")
	flags.DurationVar(&opts.Phase, "phase", 10*time.Second, "crowd, hosts, namespaces: how long lateness is measured, alone (namespaces: half of it) and under load")
	flags.StringVar(&opts.Timeout, "timeout", "", "crowd, hosts: the timeout of the tasks that hang, such as 5m to outlive the measurement (default: the server's)")
	flags.IntVar(&opts.Herd, "herd", 50_000, "second: how many tasks; first a fifth of them")
	flags.IntVar(&opts.Drained, "drained", 20_000, "throughput: how many tasks in each of its four drains")
	flags.IntVar(&opts.Backlog, "backlog", 20_000, "fair: how many tasks one queue has before the other")
	flags.IntVar(&opts.Lives, "lives", 50_000, "life, life-redis: how many tasks in each step")
	flags.IntVar(&opts.Overdue, "overdue", 50_000, "overdue: how many tasks came due while the server was down")
	flags.IntVar(&opts.Fills, "fills", 4, "full-disk: how often")
	flags.StringVar(&opts.Attacks, "attack", "", "namespaces: only these `attacks`, as window,lists: see below")
	flags.IntVar(&opts.Rivals, "rivals", 60_000, "namespaces: how many hosts, or queues, one namespace has")
	flags.IntVar(&opts.RivalCron, "rival-schedules", 20_000, "namespaces: how many schedules one namespace has")
	flags.IntVar(&opts.Ticks, "ticks", 50, "ticks: how often the server is killed, in two seconds each")
	flags.IntVar(&opts.Schedules, "schedules", 20_000, "schedules: how many")
	flags.DurationVar(&opts.Watched, "watched", 20*time.Second, "schedules: how long those are watched that fire over an hour")
	flags.DurationVar(&opts.ShardLease, "shard-lease", time.Second, "redis: how long a silent node keeps its shards")
	flags.IntVar(&opts.Deaths, "deaths", 12, "nodes, ticks-nodes: how often")
	flags.IntVar(&opts.Zombies, "zombies", 6, "zombie: how often")
	flags.IntVar(&opts.Deploys, "deploys", 2, "deploy: how often each node is restarted")
	flags.DurationVar(&opts.Blackout, "blackout", 5*time.Second, "blackout: how long no node lives")
	flags.IntVar(&opts.Failovers, "failovers", 2, "failover, failover-stop, failover-split: how often, at each level; and a tenth as often, at least once, without replicas")
	flags.IntVar(&opts.RedisKills, "redis-kills", 4, "rediskill: how often, for each way of syncing")
	flags.IntVar(&opts.SlotMoves, "slot-moves", 3, "slots: how often 500 of them are moved")
	flags.IntVar(&opts.ClusterFailovers, "cluster-failovers", 2, "failover-cluster: the same")
	flags.Uint64Var(&opts.Seed, "seed", uint64(time.Now().UnixNano()), "of the random moments (default: another one each time)")
	flags.BoolVar(&opts.Keep, "keep", false, "keep logs and data")
	flags.BoolVar(&opts.Profile, "profile", false, "creates, throughput, namespaces, life: show where the server's time goes (not with -foliot)")
	flags.StringVar(&opts.Compare, "compare", "", "run the scenarios with the binary of this `commit` and of this tree in turn, and print the ratios of their results (default scenarios: creates million throughput steady)")
	flags.IntVar(&opts.Pairs, "pairs", 3, "compare: how many runs of each binary")
	full := flags.Bool("full", false, "the sizes that are promised, unless a flag sets another one: minutes, and hours for kill")
	flags.Usage = func() {
		fmt.Fprintf(stderr, "Usage: battery [flags] [scenario ...]\n\nDrives the foliot binary from outside. Without names all of these run:\n\n")
		list(stderr, scenarios)
		fmt.Fprintf(stderr, "\nOn Redis, with the redis-server of the system; %s names all of these:\n\n", redisGroup)
		list(stderr, redisScenarios)
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
	if *full {
		if err := enlarge(flags); err != nil {
			return nil, err
		}
	}
	if err := checkOptions(opts); err != nil {
		return nil, err
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

// redisGroup is the name that stands for all scenarios on Redis.
const redisGroup = "redis"

// choose returns the scenarios of these names.
func choose(names []string) ([]scenario, error) {
	var chosen []scenario
	all := slices.Concat(scenarios, redisScenarios, measurements)
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

// fullSizes are the values that -full sets.
var fullSizes = map[string]string{
	"shard-lease": "6s", "deaths": "200", "zombies": "100", "blackout": "1m", "deploys": "10", "failovers": "50", "cluster-failovers": "20", "redis-kills": "50", "slot-moves": "20",
	"rivals": "100000", "rival-schedules": "100000", "ticks": "200", "schedules": "100000", "watched": "2m",
	"kills": "10000", "fills": "200", "stuck": "100000", "phase": "30s", "herd": "1000000", "drained": "300000", "backlog": "100000", "overdue": "5000000", "lives": "200000",
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

// checkOptions refuses values that no scenario can use.
func checkOptions(o *harness.Options) error {
	for name, size := range map[string]int{
		"kills": o.Kills, "tasks": o.Tasks, "stuck": o.Stuck, "hosts": o.Hosts, "herd": o.Herd / 5,
		"drained": o.Drained, "backlog": o.Backlog, "overdue": o.Overdue, "rivals": o.Rivals / 5000, "rival-schedules": o.RivalCron, "ticks": o.Ticks, "fills": o.Fills, "lives": o.Lives / 1000, "schedules": o.Schedules, "deaths": o.Deaths, "zombies": o.Zombies, "deploys": o.Deploys,
		"failovers": o.Failovers, "cluster-failovers": o.ClusterFailovers, "redis-kills": o.RedisKills, "slot-moves": o.SlotMoves, "pairs": o.Pairs,
	} {
		if size < 1 {
			return fmt.Errorf("-%s is too small", name)
		}
	}
	if o.Phase < time.Second {
		return errors.New("-phase is below a second")
	}
	if o.Watched < time.Second {
		return errors.New("-watched is below a second")
	}
	if o.Profile && o.Binary != "" {
		return errors.New("-profile needs a binary that the battery builds: leave -foliot out")
	}
	return nil
}
