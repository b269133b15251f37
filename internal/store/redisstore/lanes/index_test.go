package lanes

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// laneIndexOf returns the index of the lanes of 16 shards in the server at
// addr.
func laneIndexOf(t *testing.T, addr string) *Index {
	t.Helper()
	s, err := redisconn.Connect(t.Context(), redisconn.Config{
		Client:     rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true},
		Durability: redisconn.Default, Logger: slog.New(slog.DiscardHandler),
	})
	fatal.If(t, err)
	t.Cleanup(s.Close)
	now := func() task.Millis { return task.FloorMillis(time.Now()) }
	return New(Config{Now: now}, s, keyspace.NewKeys(keyspace.DefaultPrefix, 0).Shards(16), nil)
}

// A paused queue may have any number of lanes that are due.
func TestSuccessivePollsReadAllLanes(t *testing.T) {
	server := redistest.New(t)
	index := laneIndexOf(t, server.Addr)
	sh := index.shards[0]
	most := maxPolled / len(index.shards)
	words := []string{"ZADD", sh.Lanes}
	for i := range 3 * most {
		words = append(words, "1", fmt.Sprint("default/paused/1/h", i, ".example:443"))
	}
	if _, err := redistest.Command(t.Context(), server.Addr, words...); err != nil {
		t.Fatal(err)
	}
	hs := make([]*membership.Owned, len(index.shards))
	for i := range hs {
		hs[i] = &membership.Owned{Shard: i}
	}
	seen := map[task.Lane]bool{}
	for range 4 {
		n := 0
		fatal.If(t, index.readIndex(t.Context(), hs, Forever, false, func(_ *membership.Owned, e task.Entry) { n++; seen[e.Lane] = true }))
		if n > most {
			t.Errorf("it looked at %d lanes of a shard at once", n)
		}
	}
	if len(seen) != 3*most {
		t.Errorf("it has seen %d of %d lanes", len(seen), 3*most)
	}
}

func TestANodeThatOwnsNothingPollsNothing(t *testing.T) {
	if err := laneIndexOf(t, redistest.New(t).Addr).Discover(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
