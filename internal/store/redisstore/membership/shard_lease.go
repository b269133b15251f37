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
	owner  string        // its id; empty means none
	left   time.Duration // the rest of its lease
	before string        // the previous owner, if this run took the shard over after the end of its lease
	err    error
}

// askForLeases runs the script own for shards, and returns a reply for each.
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
		for k, g := range readLeaseReplies(r, len(parts[n])) {
			out[places[n][k]] = g
		}
	}
	return out
}

// readLeaseReplies reads the reply to a run for n shards.
func readLeaseReplies(r rueidis.RedisResult, n int) []leaseReply {
	out := make([]leaseReply, n)
	reply, err := r.AsStrSlice()
	if err == nil && len(reply) != 3*n {
		err = errDamaged
	}
	if l := redisconn.LossOf(err); l != nil {
		err = l // a readable error for the log
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

// release releases shards: first in this process, and after that in Redis. It
// reports whether other nodes can acquire them at once.
func (o *Member) release(ctx context.Context, shards []int) bool {
	now := time.Now()
	for _, i := range shards {
		o.disown(i, claimState{since: now, until: now.Add(o.config.Heartbeat)})
	}
	failed, first := 0, error(nil)
	for _, g := range o.askForLeases(ctx, "release", shards) {
		if g.err != nil {
			failed, first = failed+1, cmp.Or(first, g.err)
		}
	}
	o.servers.Failures.Note("release shards", first, "shards", failed, "effect", "their next owners wait until the leases of this node end")
	return first == nil
}

// hold acquires shards or renews their leases. The next step retries shards
// that failed.
func (o *Member) hold(ctx context.Context, shards []int) {
	if len(shards) == 0 {
		return
	}
	sent := time.Now() // the lease counts from here, so it ends earlier in this process than in Redis
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
	if len(fresh) > 0 { // even if other shards failed: their master may be away for long
		o.within(ctx, func(ctx context.Context) {
			if err := o.config.Prepare(ctx, fresh); err != nil {
				failed, first = failed+len(fresh), cmp.Or(first, err)
			}
		})
	}
	o.servers.Failures.Note("own shards", first, "shards", failed)
}

// accept records the owner of shard i, from a reply to a call that was sent at
// sent. It returns the owned shard if the owner is this process, otherwise nil.
func (o *Member) accept(i int, g leaseReply, sent time.Time) *OwnedShard {
	if !strings.HasPrefix(g.owner, o.Process+"/") {
		if o.states[i].held {
			o.lost.Add(1)
			o.log.note("another node had taken them over")
		}
		o.disown(i, claimState{since: sent, until: time.Now().Add(g.left)})
		return nil
	}
	h := o.owned[i].Load()
	if h == nil || h.ID != g.owner {
		o.disown(i, claimState{})
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
	h := &OwnedShard{Shard: sh, ID: id, Lowwater: o.Lowwater.New()}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	o.listeners.Go(func() { o.Listen(ctx, sh.Wake, func(message string) { o.config.OnWakeup(h, message) }) })
	return h
}
