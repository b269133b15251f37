package redisstore

import (
	"cmp"
	"context"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// These types belong to packages below. The aliases let a caller that opens or
// examines a store import only this package.
type (
	Durability = redisconn.Durability
	Examined   = redisconn.Examined
	Replica    = redisconn.Replica
	Found      = identity.Found
	Layout     = identity.Layout
)

// The levels of durability.
const (
	Async   = redisconn.Async
	Default = redisconn.Default
	Strict  = redisconn.Strict
)

// Open returns these errors if a server cannot be used.
var (
	ErrDiffers  = identity.ErrDiffers
	ErrUnfit    = redisconn.ErrUnfit
	ErrCluster  = redisconn.ErrCluster
	ErrSentinel = redisconn.ErrSentinel
)

// Examination is the report on the servers of a store.
type Examination struct {
	Masters []redisconn.Examined // by address
	Layout  identity.Layout
	Closed  string // why the Store that was examined is closed; empty means that it is open, or that there is no Store
}

// Examine checks the servers that c names, without a change, and accepts those
// that Open would refuse.
func Examine(ctx context.Context, c Config) (*Examination, error) {
	c = c.withDefaults()
	s, err := redisconn.Link(ctx, c.conn())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	for range 4 { // the fastest of several replies gives the best estimate of a clock
		_ = s.CheckMasters(ctx)
	}
	return examineAll(ctx, s, c.Shards)
}

// Examine does the same as the function Examine for the servers of s, even if s
// is closed.
func (s *Store) Examine(ctx context.Context) (*Examination, error) {
	x, err := examineAll(ctx, s.servers, s.config.Shards)
	if l := s.identity.Lost(); l != nil {
		x.Closed = l.Found
	}
	return x, err
}

// examineAll examines the masters, and after an error, its result can have the
// masters and no layout.
func examineAll(ctx context.Context, s *redisconn.Servers, shards int) (x *Examination, err error) {
	x = &Examination{}
	if x.Masters, err = s.ExamineMasters(ctx); err == nil {
		x.Layout, err = identity.ReadLayout(ctx, s, shards)
	}
	return x, err
}

// If agreed returns nil, AcceptLoss declares the remaining parts in the servers
// that c names to be the whole store. The lost parts get the identity of the
// remaining parts, so nodes can continue with the rest. Only a person must
// decide this, because lost data does not come back.
func AcceptLoss(ctx context.Context, c Config, agreed func(*identity.Found) error) (*identity.Found, error) {
	c = c.withDefaults()
	s, err := redisconn.Link(ctx, c.conn())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.CheckMasters(ctx); err != nil {
		return nil, err
	}
	return identity.AcceptLoss(ctx, s, c.Shards, c.ShardLease, agreed)
}

// Remove removes all keys of the store, which no server may have open.
func Remove(ctx context.Context, c Config) error {
	c = c.withDefaults()
	s, err := redisconn.Link(ctx, c.conn())
	if err != nil {
		return err
	}
	defer s.Close()
	prefix := cmp.Or(c.Prefix, keyspace.DefaultPrefix) + ":"
	if err := s.Client.Do(ctx, s.Client.B().Unlink().Key(prefix).Build()).Error(); err != nil { // shows the right to do so, even without keys
		return err
	}
	for _, node := range s.Client.Nodes() {
		for cursor, first := uint64(0), true; first || cursor != 0; first = false {
			page, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(prefix+"*").Count(1000).Build()).AsScanEntry()
			if err != nil {
				return err
			}
			cursor = page.Cursor
			commands := make(rueidis.Commands, len(page.Elements))
			for i, key := range page.Elements {
				commands[i] = s.Client.B().Unlink().Key(key).Build()
			}
			for _, r := range s.Client.DoMulti(ctx, commands...) {
				if err := r.Error(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
