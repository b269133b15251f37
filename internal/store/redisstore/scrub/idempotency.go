package scrub

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/records"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// claimKept is how long an Idempotency-Key without a record is left alone.
const claimKept = time.Minute

// claim gives a record its Idempotency-Key if no other record has that key.
func (sc *scrub) claim(ctx context.Context, t *task.Task) error {
	if t.Idempotency == nil {
		return nil
	}
	sh := sc.shards[keyspace.IdemShard(t.Namespace, t.Idempotency.Key, len(sc.shards))]
	digest, key := t.Namespace+"/"+t.Idempotency.Key, sh.Idem
	value, err := redisconn.ReadOne(ctx, sc.servers, rueidis.RedisResult.ToString, func(b rueidis.Builder) rueidis.Completed { return b.Hget().Key(key).Field(digest).Build() })
	if err != nil || value != "" {
		return err
	}
	got, err := sc.records.ReadAll(ctx, []records.Read{{Key: t.Key()}})
	if err != nil {
		return err
	}
	if now := got[0].Task; now == nil || now.Idempotency == nil || now.Idempotency.Key != t.Idempotency.Key {
		return nil // the record was replaced or removed in between
	}
	changed, err := sc.keep(ctx, "take", sh, digest, t.Name, "")
	if err == nil && changed {
		sc.found(t.Key(), store.FoundUnknownKey)
	}
	return err
}

// keep runs the script idem, and reports whether it took a key just now.
func (sc *scrub) keep(ctx context.Context, verb string, sh *keyspace.Shard, digest, name, from string) (bool, error) {
	results, err := redisconn.ReadRuns(ctx, sc.servers, rueidis.RedisResult.AsStrSlice, records.Idem, redisconn.Run{Keys: []string{sh.Idem, sh.Own}, Args: []string{sc.servers.Identity, verb, digest, name, from}})
	return err == nil && len(results[0]) == 2 && results[0][1] == "-1", err
}

// claims examines Idempotency-Keys, and drops those whose record has been gone
// for long. That does not count as a repair, because a create that failed may
// leave such a key.
func (sc *scrub) claims(ctx context.Context, sh *keyspace.Shard, part []member) error {
	reads := make([]records.Read, len(part))
	for i, m := range part {
		namespace, _, _ := strings.Cut(m.name, "/")
		_, name, _ := strings.Cut(m.value, "/")
		reads[i] = records.Read{Key: task.Key{Namespace: namespace, Name: name}}
	}
	got, err := sc.records.ReadAll(ctx, reads)
	if err != nil {
		return err
	}
	for i, g := range got {
		if t := g.Task; t != nil && t.Idempotency != nil && t.Namespace+"/"+t.Idempotency.Key == part[i].name {
			continue
		}
		if _, err := sc.keep(ctx, "drop", sh, part[i].name, reads[i].Key.Name, strconv.FormatInt(claimKept.Milliseconds(), 10)); err != nil {
			return err
		}
	}
	return nil
}
