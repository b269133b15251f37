package membership

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/rueidis"
)

// relisten is the longest wait before a node subscribes again.
const relisten = 500 * time.Millisecond

// Listen calls notify for each message of a channel until ctx ends. Messages
// get lost while a connection or a server is replaced, so no part of the store
// may depend on them.
func (o *Member) Listen(ctx context.Context, channel string, notify func(message string)) {
	c := o.servers.Subscriber
	for ctx.Err() == nil {
		err := c.Receive(ctx, c.B().Ssubscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { notify(m.Message) })
		if _, refused := rueidis.IsRedisErr(err); refused && ctx.Err() == nil {
			o.refused.Do(func() {
				o.config.Logger.Warn("this node cannot subscribe to the messages of other nodes: their new tasks may start up to one poll interval late", "channel", channel, "error", err)
			})
		}
		o.servers.Pause(ctx, rand.N(relisten)) // spreads the channels
	}
}
