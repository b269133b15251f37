package redisstore

import (
	"context"

	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// Examination is the report on the servers of a store.
type Examination struct {
	Masters []redisconn.Examined // by address
	Layout  identity.Layout
	Closed  string // why the Store that was examined is closed; empty means that it is open, or that there is no Store
}

// Examine checks the servers that c names. It changes nothing, and accepts
// servers that Open would refuse.
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

// examineAll examines the masters. After an error, the result can have the masters
// and no layout.
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
