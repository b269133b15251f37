package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
)

// A node dies together with the master, and the new master's clock is behind.
func TestAStepBackOfTheClockDoesNotKeepShardsOfDeadNodes(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	first := openNode(t, "a", server.Addr)
	fatal.If(t, first.Close())
	ahead := time.Now().Add(time.Hour).UnixMilli()
	command := func(words ...string) {
		fatal.If(t, errOf(redistest.Command(t.Context(), server.Addr, words...)))
	}
	command("HSET", storeKeys.Nodes, "dead", fmt.Sprint(ahead, "/nonce/1/1/1/"))
	for _, sh := range first.shards {
		command("HSET", sh.Own, "id", "dead/nonce/7", "until", fmt.Sprint(ahead), "epoch", "7")
	}
	s := openNode(t, "a", server.Addr)
	took := eventually(t, "it owns the dead node's shards", func() bool { return divided(s) })
	if took < s.config.ShardLease/2 {
		t.Errorf("it owned them after %v: the node might have lived", took)
	}
}
