package redisstore

import (
	"fmt"
	"testing"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/task"
)

// A queue that is paused may have any number of lanes that are due.
func TestAPollLooksAtSomeLanesAndInTurnAtAll(t *testing.T) {
	server := redistest.New(t)
	s := openNodeWith(t, Config{Node: "a", Alone: true}, server.Addr) // nobody else polls
	sh := s.shards[0]
	most := maxPolled / len(s.shards)
	words := []string{"ZADD", sh.Lanes}
	for i := range 3 * most {
		words = append(words, "1", fmt.Sprint("default/paused/1/h", i, ".example:443"))
	}
	if _, err := redistest.Command(t.Context(), server.Addr, words...); err != nil {
		t.Fatal(err)
	}
	h := &holding{Shard: sh}
	hs := append([]*holding{h}, make([]*holding, len(s.shards)-1)...)
	for i := range hs[1:] {
		hs[1+i] = &holding{Shard: s.shards[1+i]}
	}
	seen := map[task.Lane]bool{}
	for range 4 {
		n := 0
		if err := s.readIndex(t.Context(), hs, forever, false, func(_ *holding, e task.Entry) { n++; seen[e.Lane] = true }); err != nil {
			t.Fatal(err)
		}
		if n > most {
			t.Errorf("it looked at %d lanes of a shard at once", n)
		}
	}
	if len(seen) != 3*most {
		t.Errorf("it has seen %d of %d lanes", len(seen), 3*most)
	}
}

func TestANodeThatOwnsNothingPollsNothing(t *testing.T) {
	s := openNodeWith(t, Config{Node: "a", Alone: true}, redistest.New(t).Addr)
	if err := s.discover(t.Context(), nil, false); err != nil {
		t.Error(err)
	}
}
