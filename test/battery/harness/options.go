package harness

import (
	"time"
)

// Options are the flags.
type Options struct {
	Binary string
	Kills  int
	Cancel float64 // share of the tasks that kill cancels
	Tasks  int     // of million

	Stuck   int           // crowd, hosts
	Hosts   int           // hosts
	Phase   time.Duration // crowd, hosts
	Timeout string        // crowd, hosts
	Herd    int           // second
	Drained int           // throughput
	Backlog int           // fair
	Lives   int           // life, life-redis
	Overdue int           // overdue

	Attacks   string // namespaces: names, "" for all
	Rivals    int    // namespaces
	RivalCron int    // namespaces

	Ticks     int           // ticks
	Schedules int           // schedules
	Watched   time.Duration // schedules

	ShardLease time.Duration // of nodes

	Fills    int           // full-disk
	Deaths   int           // nodes
	Zombies  int           // zombie
	Blackout time.Duration // blackout
	Deploys  int           // deploy

	Failovers, ClusterFailovers int // failover, failover-*
	RedisKills, SlotMoves       int // rediskill, slots

	Compare string // a commit
	Pairs   int    // of runs, with Compare

	Seed    uint64
	Keep    bool
	Profile bool
}

// TaskLease is how long a silent node keeps its attempts.
func (o *Options) TaskLease() time.Duration { return min(o.ShardLease*5/2, 15*time.Second) }
