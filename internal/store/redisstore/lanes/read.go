package lanes

import (
	"context"
	"strconv"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// Peek returns the first entries of lanes in owned shards, for each of reads.
func (x *Index) Peek(ctx context.Context, reads []store.LaneRead) ([][]task.Entry, error) {
	return x.own.Lowwater.Peek(ctx, x.own.Marks(), reads, x.Read, func(shard int, lane task.Lane) { x.bounds.add(x.shards[shard], lane) })
}

// Read returns the entries of each of reads, from any shards: see lowwater.Group.Peek.
func (x *Index) Read(ctx context.Context, reads []lowwater.Read) ([][]task.Entry, error) {
	groups, places := redisconn.Group(x.servers.Cluster, reads, func(r lowwater.Read) *keyspace.Shard { return x.shards[r.Part] })
	runs := make([]redisconn.Run, len(groups))
	for i, g := range groups {
		for _, r := range g {
			runs[i].Keys = append(runs[i].Keys, x.shards[r.Part].Due(keyspace.LaneMember(r.Lane)))
			runs[i].Args = append(runs[i].Args, redisconn.Score(r.After.Due), r.After.Name, redisconn.Score(r.Until), strconv.Itoa(r.Limit))
		}
	}
	results, err := redisconn.ReadRuns(ctx, x.servers, ScoreLists, peeking, runs...)
	if err != nil {
		return nil, err
	}
	all := make([][]task.Entry, len(reads))
	for i, lists := range results {
		for n, at := range places[i] {
			all[at] = make([]task.Entry, len(lists[n]))
			for k, z := range lists[n] {
				all[at][k] = task.Entry{Name: z.Member, Lane: reads[at].Lane, Due: task.Millis(z.Score)}
			}
		}
	}
	return all, nil
}
