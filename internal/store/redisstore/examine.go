package redisstore

import (
	"context"

	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// Examination is what can be said of the servers of a store.
type Examination struct {
	Masters []redisconn.Examined // by address
	Layout  identity.Layout
	Closed  string // why the Store that examines is closed; "": it is open, or none examines
}

// Examine asks the servers that c names how they are. It changes nothing, and
// takes those that Open would refuse.
func Examine(ctx context.Context, c Config) (*Examination, error) {
	c = c.withDefaults()
	s, err := redisconn.Link(ctx, c.conn())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.CheckMode(ctx); err != nil {
		return nil, err
	}
	// The look is repeated for the clocks: the fastest answer says best how they are.
	for range 5 {
		if err = s.Look(ctx); err != nil && s.Masters.Load() == nil {
			return nil, err
		}
	}
	return examineAll(ctx, s, c.Shards)
}

// Examine is the function Examine for the servers of s, also while s is closed.
func (s *Store) Examine(ctx context.Context) (*Examination, error) {
	x, err := examineAll(ctx, s.servers, s.config.Shards)
	if l := s.identity.Lost(); l != nil {
		x.Closed = l.Found
	}
	return x, err
}

// examineAll asks the masters that the last look found. After an error the masters are
// known, and the layout is not.
func examineAll(ctx context.Context, s *redisconn.Servers, shards int) (*Examination, error) {
	x := Examination{Masters: s.ExamineMasters(ctx)}
	var err error
	x.Layout, err = identity.ReadLayout(ctx, s, shards)
	return &x, err
}

// AcceptLoss makes a store of the rest in the servers that c names, if agreed
// returns nil for it. The parts that were lost get the identity of those that are left, so that
// servers go on with the rest. It must be asked for by a person: nothing that was
// lost comes back.
func AcceptLoss(ctx context.Context, c Config, agreed func(*identity.Found) error) (*identity.Found, error) {
	c = c.withDefaults()
	s, err := redisconn.Link(ctx, c.conn())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.CheckMode(ctx); err != nil {
		return nil, err
	}
	return identity.AcceptLoss(ctx, s, c.Shards, c.ShardLease, agreed)
}
