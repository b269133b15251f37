package node

import (
	"context"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/redischeck"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/wire"
)

// examineTime bounds an examination of the Redis by a server that runs.
const examineTime = 5 * time.Second

// examiner returns the function by which the API examines the store's servers, nil if
// there are none.
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
			list = append(list, wire.Finding{Check: "format", Says: fmt.Sprintf("it cannot be read how tasks are kept: %v", err)})
		}
		return list
	}
}
