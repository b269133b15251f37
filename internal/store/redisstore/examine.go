package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// Examination is what can be said of the servers of a store.
type Examination struct {
	Masters []redisconn.Examined // by address
	Layout  Layout
	Closed  string // why the Store that examines is closed; "": it is open, or none examines
}

// Layout is how tasks are kept in the servers. The zero Layout: nothing is yet.
type Layout struct {
	Format, Shards int
	Lease          time.Duration
	Unreadable     error // why this program cannot use it; nil: it can
	Store          *Found
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
	if l := s.lost(); l != nil {
		x.Closed = l.Found
	}
	return x, err
}

// examineAll asks the masters that the last look found. After an error the masters are
// known, and the layout is not.
func examineAll(ctx context.Context, s *redisconn.Servers, shards int) (*Examination, error) {
	x := Examination{Masters: s.ExamineMasters(ctx)}
	var err error
	x.Layout, err = layout(ctx, s, shards)
	return &x, err
}

// layout reads how tasks are kept, and which store lies there.
func layout(ctx context.Context, s *redisconn.Servers, shards int) (Layout, error) {
	f, err := find(ctx, s, shards)
	if f == nil {
		return Layout{}, err
	}
	l := Layout{Store: f}
	if len(f.meta) > 0 {
		m, err := parseMeta(f.meta)
		l.Format, l.Shards, l.Lease, l.Unreadable = m.format, m.shards, m.lease, errors.Join(err, m.readable())
	}
	return l, nil
}
