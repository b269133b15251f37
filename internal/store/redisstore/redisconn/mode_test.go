package redisconn

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
)

// The URL of one server names a Sentinel, or a server of a Cluster.
func TestAServerThatDoesNotStandAloneIsRecognized(t *testing.T) {
	quick.Leave(t, "starts several servers")
	for addr, want := range map[string]error{
		redistest.NewSentinels(t).Sentinels[0].Addr: ErrSentinel,
		redistest.NewCluster(t, 3, 0).Addrs()[0]:    ErrCluster,
	} {
		_, err := Connect(t.Context(), Config{
			Client:     rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true},
			Durability: Default, Logger: slog.New(slog.DiscardHandler),
		})
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}
