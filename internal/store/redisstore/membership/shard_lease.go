package membership

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// leaseReply is the reply of the script own on one shard.
type leaseReply struct {
	owner  string        // its id; "": nobody
	left   time.Duration // of its lease
	before string        // whose lease had ended, where it was taken over
	err    error
}

// askForLeases runs own for shards, and returns a reply for each.
func (o *Member) askForLeases(ctx context.Context, verb string, shards []int) []leaseReply {
	parts, places := redisconn.Group(o.servers.Cluster, shards, func(i int) *keyspace.Shard { return o.shards[i] })
	runs := make([]redisconn.Run, len(parts))
	for n, part := range parts {
		runs[n].Args = []string{verb, o.Process, strconv.FormatInt(o.config.ShardLease.Milliseconds(), 10), o.servers.Identity}
		for _, i := range part {
			runs[n].Keys = append(runs[n].Keys, o.shards[i].Own)
		}
	}
	out := make([]leaseReply, len(shards))
	for n, r := range own.Do(ctx, o.servers.Client, runs) {
		o.config.Suspect(r.Error())
		for k, g := range readGrips(r, len(parts[n])) {
			out[places[n][k]] = g
		}
	}
	return out
}

// readGrips reads the reply to a run for n shards.
func readGrips(r rueidis.RedisResult, n int) []leaseReply {
	out := make([]leaseReply, n)
	reply, err := r.AsStrSlice()
	if err == nil && len(reply) != 3*n {
		err = errDamaged
	}
	if l := redisconn.LossOf(err); l != nil {
		err = l // in words, for the log
	}
	for i := range out {
		if err != nil {
			out[i].err = err
			continue
		}
		ms, wrong := strconv.ParseInt(reply[3*i+1], 10, 64)
		out[i] = leaseReply{reply[3*i], time.Duration(ms) * time.Millisecond, reply[3*i+2], wrong}
	}
	return out
}

// release gives shards up: first here, then for others. It reports whether these
// can have them at once.
func (o *Member) release(ctx context.Context, shards []int) bool {
	now := time.Now()
	for _, i := range shards {
		o.drop(i, claimState{since: now, until: now.Add(o.config.Heartbeat)})
	}
	failed, first := 0, error(nil)
	for _, g := range o.askForLeases(ctx, "release", shards) {
		if g.err != nil {
			failed, first = failed+1, cmp.Or(first, g.err)
		}
	}
	o.servers.Failures.Note("release shards: their next owners have to wait until our leases end", first, "shards", failed)
	return first == nil
}

// hold acquires shards, or renews their leases. What fails is tried again.
func (o *Member) hold(ctx context.Context, shards []int) {
	if len(shards) == 0 {
		return
	}
	sent := time.Now() // a lease counts from here: it ends earlier for us than for others
	var fresh []*OwnedShard
	failed, first := 0, error(nil)
	var all []leaseReply
	o.within(ctx, func(ctx context.Context) { all = o.askForLeases(ctx, "hold", shards) })
	for n, g := range all {
		i := shards[n]
		if g.err != nil {
			failed, first = failed+1, cmp.Or(first, fmt.Errorf("shard %d: %w", i, g.err))
			continue
		}
		if h := o.accept(i, g, sent); h != nil && !h.Ready.Load() {
			fresh = append(fresh, h)
		}
	}
	if len(fresh) > 0 { // also where others failed: their master may be away for long
		o.within(ctx, func(ctx context.Context) {
			if err := o.config.Prepare(ctx, fresh); err != nil {
				failed, first = failed+len(fresh), cmp.Or(first, err)
			}
		})
	}
	o.servers.Failures.Note("own shards", first, "shards", failed)
}

// accept notes who owns shard i, since sent or later, and returns the owned shard
// where it is this process.
func (o *Member) accept(i int, g leaseReply, sent time.Time) *OwnedShard {
	if !strings.HasPrefix(g.owner, o.Process+"/") {
		if o.states[i].held {
			o.lost.Add(1)
			o.log.note("others had taken over")
		}
		o.drop(i, claimState{since: sent, until: time.Now().Add(g.left)})
		return nil
	}
	h := o.owned[i].Load()
	if h == nil || h.ID != g.owner {
		o.drop(i, claimState{})
		h = o.newOwnedShard(o.shards[i], g.owner)
	}
	if node, _, taken := strings.Cut(g.before, "/"); taken {
		o.takeovers.Add(1)
		o.log.note("the leases of " + node + " had ended")
	}
	end := sent.Add(o.config.ShardLease)
	h.until.Store(int64(end.Sub(o.base)))
	o.states[i] = claimState{held: true, since: sent, until: end}
	o.owned[i].Store(h)
	return h
}

func (o *Member) newOwnedShard(sh *keyspace.Shard, id string) *OwnedShard {
	h := &OwnedShard{Shard: sh, ID: id, Marks: o.Marks.New()}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	o.listeners.Go(func() { o.Listen(ctx, sh.Wake, func(message string) { o.config.Woken(h, message) }) })
	return h
}
