package redisstore

import (
	"context"
	"errors"
	"fmt"
)

// What Open returns where Config.Client names one server, and that is none
// that stands alone.
var (
	ErrCluster  = errors.New("the server belongs to a Cluster")
	ErrSentinel = errors.New("the server is a sentinel")
)

// checkMode compares what the servers are with how they are asked. They say so
// in the reply to HELLO, which every user may send.
func (s *servers) checkMode(ctx context.Context) error {
	if s.cluster {
		return nil
	}
	about, err := s.client.Do(ctx, s.client.B().Arbitrary("HELLO").Build()).ToMap()
	if err != nil {
		return fmt.Errorf("ask what the server is: %w", err)
	}
	mode := about["mode"]
	switch word, _ := mode.ToString(); word {
	case "cluster":
		return ErrCluster
	case "sentinel":
		return ErrSentinel
	}
	return nil
}
