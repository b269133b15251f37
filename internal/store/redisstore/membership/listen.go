package membership

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/rueidis"
)

// relisten is how long a node waits, at most, before it subscribes again.
const relisten = 500 * time.Millisecond

// Listen calls told for each message of a channel, until ctx ends. Messages get
// lost while a connection or a server is replaced: nobody relies on them.
func (o *Member) Listen(ctx context.Context, channel string, told func(message string)) {
	c := o.servers.Subscriber
	for ctx.Err() == nil {
		err := c.Receive(ctx, c.B().Ssubscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { told(m.Message) })
		if _, refused := rueidis.IsRedisErr(err); refused && ctx.Err() == nil {
			o.notListening.Do(func() {
				o.config.Logger.Warn("listen to the other nodes: until that works, tasks that they create to be due at once are late by the time between two polls", "channel", channel, "error", err)
			})
		}
		o.servers.Pause(ctx, rand.N(relisten)) // not all channels at once
	}
}
