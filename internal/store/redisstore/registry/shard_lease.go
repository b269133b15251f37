package registry

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// Lease implements membership.Registry with the script own.
func (r *registry) Lease(ctx context.Context, verb membership.Verb, process string, length time.Duration, shards []int) []membership.LeaseReply {
	parts, places := redisconn.Group(r.servers.Cluster, shards, func(i int) *keyspace.Shard { return r.shards[i] })
	runs := make([]redisconn.Run, len(parts))
	for n, part := range parts {
		runs[n].Args = []string{string(verb), process, inMillis(length), r.servers.Identity}
		for _, i := range part {
			runs[n].Keys = append(runs[n].Keys, r.shards[i].Own)
		}
	}
	out := make([]membership.LeaseReply, len(shards))
	for n, result := range own.Do(ctx, r.servers.Client, runs) {
		r.suspect(result.Error())
		for k, g := range readLeaseReplies(result, len(parts[n])) {
			out[places[n][k]] = g
		}
	}
	return out
}

func readLeaseReplies(r rueidis.RedisResult, n int) []membership.LeaseReply {
	out := make([]membership.LeaseReply, n)
	reply, err := r.AsStrSlice()
	if err == nil && len(reply) != 2*n {
		err = errDamaged
	}
	if l := redisconn.LossOf(err); l != nil {
		err = l // a readable error for the log
	}
	for i := range out {
		if err != nil {
			out[i].Err = err
			continue
		}
		ms, wrong := strconv.ParseInt(reply[2*i+1], 10, 64)
		out[i] = membership.LeaseReply{Owner: reply[2*i], Left: time.Duration(ms) * time.Millisecond, Err: wrong}
	}
	return out
}
