package node

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/redischeck"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/wire"
)

// examineTime bounds the examination of a Redis by a running server.
const examineTime = 5 * time.Second

// examiner returns the function with which the API examines the Redis servers
// of the store, or nil if there are none.
func (n *Node) examiner() func(context.Context) []wire.Finding {
	s, shared := n.Store.(*redisstore.Store)
	if !shared {
		return nil
	}
	return func(ctx context.Context) []wire.Finding {
		ctx, stop := context.WithTimeout(ctx, examineTime)
		defer stop()
		x, err := s.Examine(ctx)
		list := redischeck.Judge(x, *n.cfg.Redis, "the server's clock")
		if err != nil {
			list = append(list, wire.Finding{Check: "format", Says: fmt.Sprintf("cannot read the format of the store: %v", err)})
		}
		return list
	}
}
