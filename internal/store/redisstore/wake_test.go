package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/lanes"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

func TestATaskCreatedOnOneNodeReachesTheWatcherOfTheOther(t *testing.T) {
	server := redistest.New(t)
	// The poll is too slow to find it first.
	a := openNodeWith(t, Config{LanePoll: time.Hour, Shared: store.Shared{Node: "a"}}, server.Addr)
	b := openNodeWith(t, Config{LanePoll: time.Hour, Shared: store.Shared{Node: "b"}}, server.Addr)
	eventually(t, "they share the shards", func() bool { return divided(a, b) })
	listening(t, server.Addr, a, b)
	heard := watch(b)
	tasks := soon(t, a, "t", 40, 500*time.Millisecond)
	took := heard.await(t, b, tasks)
	for _, one := range tasks {
		if h := b.member.Shard(b.shard(one.Key())); h != nil && !h.Lowwater.Covers(one.Entry()) {
			t.Errorf("the mark of %s is too high", one.Name)
		}
	}
	t.Log("within", took)
}

// All databases of a Redis share its channels.
func TestStoresInTwoDatabasesOfARedisReceiveNoMessagesOfEachOther(t *testing.T) {
	server := redistest.New(t)
	var nodes [2][2]*Store
	for db := range nodes {
		for i, name := range []string{"a", "b"} {
			nodes[db][i] = openNodeWith(t, Config{LanePoll: time.Hour, Client: rueidis.ClientOption{SelectDB: db}, Shared: store.Shared{Node: name}}, server.Addr)
		}
	}
	for _, pair := range nodes {
		eventually(t, "they share the shards", func() bool { return divided(pair[:]...) })
		listening(t, server.Addr, pair[:]...)
	}
	first, second := nodes[0], nodes[1]
	heard, foreign := [2]*hints{watch(first[0]), watch(first[1])}, watch(second[1])
	foreign.await(t, second[1], soon(t, second[0], "foreign", 40, 500*time.Millisecond))
	for i := range first { // the messages of a channel come in order: foreign ones would have come before
		heard[i].await(t, first[i], soon(t, first[1-i], fmt.Sprint("own", i, "-"), 40, 500*time.Millisecond))
		for name := range heard[i].all() {
			if strings.HasPrefix(name, "foreign") {
				t.Errorf("the other database has a task %s, which node %s received", name, first[i].member.Process)
			}
		}
	}
}

// listening waits until nodes have subscribed to their wake-up channels.
func listening(t *testing.T, addr string, nodes ...*Store) {
	t.Helper()
	for _, s := range nodes {
		for _, h := range s.member.Shards() {
			eventually(t, "somebody listens at "+h.Wake, func() bool {
				reply, err := s.servers.Client.Do(t.Context(), s.servers.Client.B().PubsubShardnumsub().Channel(h.Wake).Build()).ToArray()
				if err != nil || len(reply) != 2 {
					t.Fatal(addr, err)
				}
				n, _ := reply[1].AsInt64()
				return n > 0
			})
		}
	}
}

// A poll that reads known entries again and again would cost more than the
// deliveries.
func TestPollsNeitherRepeatNorMissTasksOfTheSameMillisecond(t *testing.T) {
	server := redistest.New(t)
	s, other := openAt(t, server.Addr), openAt(t, server.Addr)
	defer func() { _, _ = s.Close(), other.Close() }()
	tasks := soon(t, s, "t", 20, 2*time.Second)
	fatal.If(t, errOf(s.Peek(t.Context(), []store.LaneRead{{Lane: tasks[0].Lane(), Until: lanes.Forever, Limit: 100}})))
	fatal.If(t, s.lanes.RaiseBounds(t.Context()))
	heard := watch(s)
	fatal.If(t, s.lanes.Discover(t.Context(), s.member.Owned()))
	if all := heard.all(); len(all) != 0 {
		t.Errorf("it hinted %d tasks that were known", len(all))
	}
	replies, err := other.Transit(t.Context(), task.CeilMillis(time.Now()), store.Changes(tasktest.Creates("a", 20, tasks[0].Due, nil)))
	fatal.If(t, err)
	for _, r := range replies {
		fatal.If(t, r.Err)
		tasks = append(tasks, r.Task)
	}
	fatal.If(t, s.lanes.Discover(t.Context(), s.member.Owned()))
	for _, one := range tasks {
		if !s.member.Shard(s.shard(one.Key())).Lowwater.Covers(one.Entry()) {
			t.Errorf("reads pass over %s", one.Name)
		}
	}
}
