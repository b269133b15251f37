package redisconn

import (
	"context"
	"errors"
	"fmt"
)

// CheckMode returns these errors if Config.Client names one server and that
// server does not stand alone.
var (
	ErrCluster  = errors.New("the server belongs to a Cluster")
	ErrSentinel = errors.New("the server is a sentinel")
)

// CheckMode compares the mode of the server with the client's mode. The mode is
// in the reply to HELLO, which every user is allowed to send.
func (s *Servers) CheckMode(ctx context.Context) error {
	if s.Cluster {
		return nil
	}
	about, err := s.Client.Do(ctx, s.Client.B().Arbitrary("HELLO").Build()).ToMap()
	if err != nil {
		return fmt.Errorf("read the mode of the server: %w", err)
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
