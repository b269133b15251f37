package api

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

// A sample is used for at least sampleFor, and for a multiple of its cost.
const (
	sampleFor     = time.Second
	sampleLongest = 30 * time.Second // after a stall, a cost can be anything
	maxSamples    = 128
)

// sampled has the last sample of each query, for all callers. The zero value is
// ready.
type sampled[Q comparable, V any] struct {
	mu  sync.Mutex // guards all
	all map[Q]*lastSample[V]
}

type lastSample[V any] struct {
	turn  chan struct{} // full while a request reads or writes the fields below
	value V
	until time.Time // the value is used until then
}

// take returns the present sample of q. One request computes a new sample, and the
// others wait for it.
func (s *sampled[Q, V]) take(ctx context.Context, q Q, share int, compute func() (V, error)) (v V, err error) {
	one := s.of(q)
	select {
	case one.turn <- struct{}{}:
	case <-ctx.Done():
		return v, ctx.Err()
	}
	defer func() { <-one.turn }()
	began := time.Now()
	if began.Before(one.until) {
		return one.value, nil
	}
	if v, err = compute(); err != nil {
		return v, err
	}
	cost := time.Since(began)
	one.value, one.until = v, began.Add(cost+min(max(sampleFor, time.Duration(share)*cost), sampleLongest))
	return v, nil
}

// of returns the sample of q, and forgets all others if there are too many.
func (s *sampled[Q, V]) of(q Q) *lastSample[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[q]
	if one == nil {
		if s.all == nil {
			s.all = map[Q]*lastSample[V]{}
		}
		for other := range s.all {
			if len(s.all) < maxSamples {
				break
			}
			delete(s.all, other)
		}
		one = &lastSample[V]{turn: make(chan struct{}, 1)}
		s.all[q] = one
	}
	return one
}

func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	err := wire.Encode(&buf, v)
	buf.WriteByte('\n')
	return buf.Bytes(), err
}
