package redisconn

import (
	"context"
	"errors"
	"fmt"
)

// What CheckMode returns where Config.Client names one server, and that is none
// that stands alone.
var (
	ErrCluster  = errors.New("the server belongs to a Cluster")
	ErrSentinel = errors.New("the server is a sentinel")
)

// CheckMode compares what the servers are with how they are asked. They say so
// in the reply to HELLO, which every user may send.
func (s *Servers) CheckMode(ctx context.Context) error {
	if s.Cluster {
		return nil
	}
	about, err := s.Client.Do(ctx, s.Client.B().Arbitrary("HELLO").Build()).ToMap()
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
