package registry

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// The log names the store that was found in place of this one.
func TestALeaseRefusedByAnotherStoreIsExplained(t *testing.T) {
	t.Parallel()
	s, err := redisconn.Connect(t.Context(), redisconn.Config{
		Client:     rueidis.ClientOption{InitAddress: []string{redistest.New(t).Addr}, DisableCache: true},
		Durability: redisconn.Default, Logger: slog.New(slog.DiscardHandler),
	})
	fatal.If(t, err)
	defer s.Close()
	refused := s.Client.Do(t.Context(), s.Client.B().Eval().Script("return redis.error_reply('FOLIOT_STORE foliot:{0}:own')").Numkeys(0).Build())
	if g := readLeaseReplies(refused, 1)[0]; g.Err == nil || strings.Contains(g.Err.Error(), "FOLIOT_STORE") {
		t.Errorf("it says %v", g.Err)
	}
}
