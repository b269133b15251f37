package lanes

import (
	"context"
	"embed"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/store/redisstore/registry"
	"github.com/foliot/foliot/internal/task"
)

//go:embed scripts/*.lua
var sources embed.FS

// The scripts of this package, each with the name of its file.
var (
	Listing = redisconn.NewScript(sources, redisconn.Reads, "lanes")
	peeking = redisconn.NewScript(sources, redisconn.Reads, "peek")
	raise   = redisconn.NewScript(sources, redisconn.Writes, "raise")
)

// Forever is later than every due time.
const Forever = task.Millis(1 << 52)

// The owner of a shard finds tasks that other nodes add to it in the index of
// lanes. It reads the index every Config.Poll. A wake-up message only reports
// the same tasks sooner.
const (
	lookahead = 5000 // milliseconds: bounds up to this far in the future are read
	maxPolled = 8192 // lanes that one poll reads. If there are more, as in a paused queue, polls take turns
	maxNews   = 16   // entries of one lane and shard in one hint; reads of the lane find the rest
)

// Index holds this node's knowledge of the lanes in its shards: the low-water
// marks of the owned shards, and the stored bounds that must be raised.
type Index struct {
	config  Config
	servers *redisconn.Servers
	shards  []*keyspace.Shard
	own     *registry.Member
	bounds  bounds
	polled  []atomic.Int64 // by shard: the number of lanes that the poll has read in this round
}

// Config connects an Index to its store.
type Config struct {
	Poll   time.Duration      // the time between two reads of the index of lanes
	Now    func() task.Millis // the time by which tasks are due
	Logger *slog.Logger

	Watchers *store.Watchers // get new entries in owned shards
}

// New returns an index of the lanes in the shards that own reports as owned.
func New(c Config, servers *redisconn.Servers, shards []*keyspace.Shard, own *registry.Member) *Index {
	return &Index{config: c, servers: servers, shards: shards, own: own, bounds: bounds{low: map[bound]struct{}{}}, polled: make([]atomic.Int64, len(shards))}
}

// Prepare reads the lanes of shards that this process has acquired, so that they
// count as owned from then on.
func (x *Index) Prepare(ctx context.Context, hs []*membership.Owned) error {
	var leads []lead
	until := x.config.Now() + lookahead
	err := x.readIndex(ctx, hs, Forever, true, func(h *membership.Owned, e task.Entry) {
		h.Lowwater.Added([]task.Entry{e})
		if e.Due <= until {
			leads = append(leads, lead{x.shards[h.Shard], e.Lane})
		}
	})
	if err != nil {
		return err
	}
	for _, h := range hs {
		h.Ready.Store(true)
	}
	if x.config.Watchers.Tasks() == nil {
		return nil
	}
	return x.follow(ctx, leads, until)
}

// readIndex calls found for each lane with a bound of at most until. Unless all
// is true, it reads only some of them, and the next call continues after these.
func (x *Index) readIndex(ctx context.Context, hs []*membership.Owned, until task.Millis, all bool, found func(*membership.Owned, task.Entry)) error {
	most := -1
	if !all {
		most = max(maxPolled/max(len(hs), 1), 8)
	}
	parts, _ := redisconn.Group(x.servers.Cluster, hs, func(h *membership.Owned) *keyspace.Shard { return x.shards[h.Shard] })
	runs := make([]redisconn.Run, len(parts))
	for n, part := range parts {
		runs[n].Args = []string{redisconn.Score(until)}
		for _, h := range part {
			from := x.polled[h.Shard].Load()
			if all {
				from = 0
			}
			runs[n].Keys, runs[n].Args = append(runs[n].Keys, x.shards[h.Shard].Lanes), append(runs[n].Args, strconv.FormatInt(from, 10), strconv.Itoa(most))
		}
	}
	results, err := redisconn.ReadRuns(ctx, x.servers, ScoreLists, Listing, runs...)
	if err != nil {
		return fmt.Errorf("read the index of lanes: %w", err)
	}
	for n, indexes := range results {
		for i, h := range parts[n] {
			for _, z := range indexes[i] {
				lane, err := keyspace.ParseLane(z.Member)
				if err != nil {
					return err
				}
				found(h, task.Entry{Lane: lane, Due: task.Millis(z.Score)})
			}
			switch {
			case all:
			case len(indexes[i]) == most:
				x.polled[h.Shard].Add(int64(most))
			default:
				x.polled[h.Shard].Store(0)
			}
		}
	}
	return nil
}

// ScoreLists decodes the replies of scripts that read sorted sets.
func ScoreLists(r rueidis.RedisResult) ([][]rueidis.ZScore, error) {
	lists, err := r.ToArray()
	all := make([][]rueidis.ZScore, len(lists))
	for i := 0; i < len(lists) && err == nil; i++ {
		all[i], err = lists[i].AsZScores()
	}
	return all, err
}

// pollsAlone is how many intervals a node waits between two polls if it knows no
// other node. Another node can add tasks only before its heartbeat is known.
const pollsAlone = 3

// Poll looks for tasks that other nodes have added to owned shards, until ctx
// ends.
func (x *Index) Poll(ctx context.Context) {
	for last := time.Now(); x.servers.Await(ctx, x.config.Poll); {
		hs, since := x.own.Owned(), time.Since(last)
		if len(hs) == 0 || !x.own.KnowsOthers() && since < pollsAlone*x.config.Poll-x.config.Poll/2 {
			continue
		}
		last = last.Add(since)
		once, stop := context.WithTimeout(ctx, redisconn.RetryTime)
		// An empty lane that still has a bound would be read for nothing.
		err := x.RaiseBounds(once)
		if err == nil {
			err = x.Discover(once, hs)
		}
		stop()
		if ctx.Err() == nil {
			x.servers.Failures.Note("look for tasks that other nodes have scheduled", err)
		}
	}
}

// Discover reads the first entries of lanes that have a bound below their mark,
// if they are due soon.
func (x *Index) Discover(ctx context.Context, hs []*membership.Owned) error {
	var leads []lead
	until := x.config.Now() + lookahead
	err := x.readIndex(ctx, hs, until, false, func(h *membership.Owned, e task.Entry) {
		last := e
		last.Name = "\xff" // sorts after every name
		switch {
		case !h.Lowwater.Covers(last):
			leads = append(leads, lead{x.shards[h.Shard], e.Lane})
		case !h.Lowwater.Covers(e): // several tasks are due at the same time: a new one can sort before the mark, but most are known
			h.Lowwater.Added([]task.Entry{e})
		}
	})
	if err != nil {
		return err
	}
	return x.follow(ctx, leads, until)
}

// lead is a lane that may have entries that are due soon.
type lead struct {
	*keyspace.Shard
	lane task.Lane
}

// follow reads the first entries of lanes that are due until a time, and hints them.
func (x *Index) follow(ctx context.Context, leads []lead, until task.Millis) error {
	results, err := redisconn.Read(ctx, x.servers, rueidis.RedisResult.AsZScores, redisconn.EachOf(leads, func(b rueidis.Builder, first lead) rueidis.Completed {
		return b.Zrange().Key(first.Due(keyspace.LaneMember(first.lane))).Min("-inf").Max(redisconn.Score(until)).Byscore().Limit(0, maxNews).Withscores().Build()
	})...)
	if err != nil {
		return fmt.Errorf("read the due index: %w", err)
	}
	for i, found := range results {
		first := leads[i]
		if len(found) == 0 { // the bound is too low
			x.bounds.add(first.Shard, first.lane)
			continue
		}
		entries := make([]task.Entry, len(found))
		for n, z := range found {
			entries[n] = task.Entry{Name: z.Member, Lane: first.lane, Due: task.Millis(z.Score)}
		}
		x.own.Added(entries)
	}
	return nil
}
