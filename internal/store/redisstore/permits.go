package redisstore

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/permits"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

var _ store.PermitStore = (*Store)(nil)

// permitting is allowed to run when memory is full, because otherwise no task of a
// limited queue could be delivered.
var permitting = redisconn.NewScript(sources, redisconn.Writes, "permits")

// listenForPermits calls the watcher with each scope that this process should ask
// for, until ctx ends.
func (s *Store) listenForPermits(ctx context.Context) {
	s.member.Listen(ctx, s.servers.Keys.Asks(s.member.Process), func(name string) {
		if scope, ok := permits.ParseName(name); ok {
			s.Watchers.Permits([]store.PermitScope{scope})
		}
	})
}

// Permit implements store.PermitStore, by one run of a script for each ask, all in
// one pipeline, and notifies the processes that the replies name.
func (s *Store) Permit(ctx context.Context, asks []store.PermitAsk) []store.PermitReply {
	replies, err := store.Call(ctx, &s.calls, func() ([]store.PermitReply, error) { return s.permit(ctx, asks), nil })
	if err != nil {
		replies = make([]store.PermitReply, len(asks))
		for i := range replies {
			replies[i].Err = err
		}
	}
	return replies
}

func (s *Store) permit(ctx context.Context, asks []store.PermitAsk) []store.PermitReply {
	replies := make([]store.PermitReply, len(asks))
	ctx, stop := context.WithTimeout(ctx, s.config.ShardLease/3)
	defer stop()
	runs := make([]redisconn.Run, len(asks))
	for i, a := range asks {
		runs[i] = permitRun(s.servers.Keys, s.member.Process, s.asks.Add(1), s.config.ShardLease, a)
	}
	var messages rueidis.Commands
	for i, r := range permitting.Do(ctx, s.servers.Client, runs) {
		reply, others, err := readPermits(r)
		reply.Err, reply.Lease = s.failure(err), s.config.ShardLease
		replies[i] = reply
		for _, process := range others {
			messages = append(messages, s.servers.Client.B().Spublish().Channel(s.servers.Keys.Asks(process)).Message(permits.Name(asks[i].PermitScope)).Build())
		}
	}
	if len(messages) > 0 {
		s.servers.Client.DoMulti(ctx, messages...) // a process that misses a message asks a little later
	}
	return replies
}

// permitRun returns the run of the script for the n-th ask of a process. If a
// destination contains a closing brace, the hash tag ends there, so the keys of such
// destinations are spread less evenly over the slots.
func permitRun(k *keyspace.Keys, who string, n uint64, lease time.Duration, a store.PermitAsk) redisconn.Run {
	interval := "0"
	if a.Rate > 0 {
		interval = strconv.FormatFloat(1e6/a.Rate, 'g', -1, 64)
	}
	return redisconn.Run{Keys: k.Permits(permits.Name(a.PermitScope)), Args: []string{
		who, strconv.FormatUint(n, 10), strconv.FormatInt(lease.Microseconds(), 10),
		strconv.Itoa(a.Concurrency), strconv.Itoa(a.Keep), strconv.Itoa(a.Want),
		interval, strconv.Itoa(a.Burst), strconv.FormatUint(a.Used, 10),
		strconv.FormatInt(max(a.UsedAgo, 0).Microseconds(), 10), strconv.Itoa(a.Tokens),
	}}
}

// readPermits returns a reply of the script, and the processes that should ask
// again.
func readPermits(r rueidis.RedisResult) (reply store.PermitReply, others []string, err error) {
	list, err := r.ToArray()
	if err == nil && len(list) < 5 {
		err = codec.ErrDamaged
	}
	var n [5]int64
	for i := 0; i < len(n) && err == nil; i++ {
		n[i], err = list[i].AsInt64()
	}
	if err != nil {
		return reply, nil, err
	}
	for _, m := range list[5:] {
		who, _ := m.ToString()
		others = append(others, who)
	}
	return store.PermitReply{
		Held: int(n[0]), Share: int(n[1]), Tokens: int(n[2]),
		After: time.Duration(n[3]) * time.Microsecond, Again: time.Duration(n[4]) * time.Microsecond,
	}, others, nil
}
