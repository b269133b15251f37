package registry

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// Publish implements membership.Registry. Sums are no part of the store's contents:
// without them, nodes count all shards.
func (r *registry) Publish(ctx context.Context, node string, sums []byte) error {
	b, key := r.servers.Client.B(), r.servers.Keys.Sums
	command := b.Hset().Key(key).FieldValue().FieldValue(node, rueidis.BinaryString(sums)).Build()
	if sums == nil {
		command = b.Hdel().Key(key).Field(node).Build()
	}
	return r.servers.Client.Do(ctx, command).Error()
}

func (r *registry) Published(ctx context.Context) (map[string][]byte, error) {
	texts, err := redisconn.ReadOne(ctx, r.servers, rueidis.RedisResult.AsStrMap, func(b rueidis.Builder) rueidis.Completed { return b.Hgetall().Key(r.servers.Keys.Sums).Build() })
	all := make(map[string][]byte, len(texts))
	for node, text := range texts {
		all[node] = []byte(text)
	}
	return all, err
}
