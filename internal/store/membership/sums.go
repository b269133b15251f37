package membership

import (
	"context"
	"encoding/json"
	"maps"
	"math/bits"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// sumsFresh is the largest age of published sums that are used, while owners publish
// with each heartbeat, a second apart.
const sumsFresh = 1500 * time.Millisecond

// sums are the counts of the records in the shards of one node, as it publishes them.
type sums struct {
	At         task.Millis            `json:"at"` // when the node began to count
	Shards     []byte                 `json:"shards"`
	Namespaces map[string]task.Counts `json:"namespaces"`
}

// publishSums publishes the sums of this node's shards with each heartbeat, until ctx
// ends. Quotas need them, because each node that creates tasks reads these sums in one
// call, instead of the counts of all shards.
func (m *Member) publishSums(ctx context.Context) {
	for {
		select {
		case <-time.After(m.config.UntilNext(m.config.Heartbeat)):
			m.within(ctx, func(ctx context.Context) { m.config.Note("publish the counts of tasks", m.publish(ctx)) })
		case <-ctx.Done():
			ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), stepEnds)
			defer stop()
			_ = m.config.Sums.Publish(ctx, m.self.Name, nil)
			return
		}
	}
}

func (m *Member) publish(ctx context.Context) error {
	own := sums{At: m.config.Now(), Shards: make([]byte, (len(m.owned)+7)/8)}
	var shards []int
	for _, h := range m.Owned() {
		shards = append(shards, h.Shard)
		own.Shards[h.Shard/8] |= 1 << (h.Shard % 8)
	}
	if len(shards) == 0 {
		return nil
	}
	var err error
	if own.Namespaces, err = m.config.Count(ctx, shards); err != nil || own.Namespaces == nil {
		return err
	}
	data, err := json.Marshal(own)
	if err != nil {
		return err
	}
	return m.config.Sums.Publish(ctx, m.self.Name, data)
}

// Sums returns the counts, in all shards, of the namespaces that every node counts, and
// their age: how long ago the first node began to count, at most sumsFresh. It returns false
// unless exactly one node has published each shard since then: after a node has died, some
// shards are missing for a while, and after a move some are published twice.
func (m *Member) Sums(ctx context.Context) (all map[string]task.Counts, age time.Duration, whole bool) {
	published, err := m.config.Sums.Published(ctx)
	if err != nil {
		return nil, 0, false
	}
	now := m.config.Now()
	all, at := map[string]task.Counts{}, now
	seen, n := make([]byte, (len(m.owned)+7)/8), 0
	in, nodes := map[string]int{}, 0
	for node, data := range published {
		var one sums
		if err := json.Unmarshal(data, &one); err != nil || len(one.Shards) != len(seen) || now.Sub(one.At).Abs() > sumsFresh {
			if now.Sub(one.At) > time.Minute {
				_ = m.config.Sums.Publish(ctx, node, nil) // else the names of dead nodes would pile up
			}
			continue
		}
		for i, these := range one.Shards { // eight shards
			if seen[i]&these != 0 {
				return nil, 0, false
			}
			seen[i] |= these
			n += bits.OnesCount8(these)
		}
		for name, c := range one.Namespaces {
			have := all[name]
			have.Add(c)
			all[name] = have
			in[name]++
		}
		nodes++
		at = min(at, one.At)
	}
	maps.DeleteFunc(all, func(name string, _ task.Counts) bool { return in[name] < nodes })
	return all, now.Sub(at), n == len(m.owned)
}
