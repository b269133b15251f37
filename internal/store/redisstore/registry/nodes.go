package registry

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

func (r *registry) Owners(ctx context.Context) ([]membership.Lease, error) {
	return redisconn.Read(ctx, r.servers, readLease, redisconn.EachOf(r.shards, func(b rueidis.Builder, sh *keyspace.Shard) rueidis.Completed {
		return b.Hmget().Key(sh.Own).Field("id", "until", "epoch").Build()
	})...)
}

func readLease(r rueidis.RedisResult) (membership.Lease, error) {
	fields, err := r.AsStrSlice()
	if err != nil {
		return membership.Lease{}, err
	}
	if len(fields) != 3 {
		return membership.Lease{}, errDamaged
	}
	l := membership.Lease{ID: fields[0]}
	until, _ := strconv.ParseInt(fields[1], 10, 64) // a missing field is 0
	l.Until = task.Millis(until)
	l.Epoch, _ = strconv.ParseUint(fields[2], 10, 64)
	return l, nil
}

// Drain starts or ends a drain, and reports whether that changed anything.
func (m *Member) Drain(ctx context.Context, d store.Drain) (changed bool, err error) {
	verb := "drain"
	switch {
	case d.Undo:
		verb = "undo"
	case d.Force:
		verb = "force"
	}
	one := redisconn.Run{Keys: []string{m.registry.servers.Keys.Nodes}, Args: []string{d.Node, verb, inMillis(m.config.Silence())}}
	replies, err := m.registry.servers.Write(ctx, drain, []*keyspace.Shard{m.registry.servers.Keys.NodesShard()}, []redisconn.Run{one})
	if err != nil {
		return false, err
	}
	switch word, _ := replies[0][0].ToString(); word { // the script returns a number on success
	case "missing":
		return false, &settings.MissingError{What: "node", Name: d.Node}
	case "last":
		return false, store.ErrLastNode
	}
	m.registry.Announce(ctx)
	n, err := replies[0][0].AsInt64()
	return n == 1, err
}
