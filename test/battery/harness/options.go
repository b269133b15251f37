package harness

import "time"

// Options are the flags, which options.go of the battery describes.
type Options struct {
	Binary, Timeout, Attacks, Compare string
	Cancel                            float64 // a share
	Keep, Profile                     bool
	Seed                              uint64

	Kills, Fills, Tasks, Stuck, Hosts, Herd, Drained, Backlog, Lives, Overdue  int
	Rivals, RivalCron, Ticks, Schedules, Deaths, Zombies, Deploys, Pairs       int
	Failovers, ClusterFailovers, RedisKills, SlotMoves, Transactions, Standing int

	Phase, Watched, ShardLease, Blackout time.Duration
}

// TaskLease is how long a silent node keeps its attempts.
func (o *Options) TaskLease() time.Duration { return min(o.ShardLease*5/2, 15*time.Second) }
