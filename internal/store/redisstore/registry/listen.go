package registry

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/redis/rueidis"
)

// relisten is the longest wait before a node subscribes again.
const relisten = 500 * time.Millisecond

// Listen implements membership.Registry. Messages that were sent before a
// subscription began are lost, so its begin is news too.
func (r *registry) Listen(ctx context.Context, news func()) {
	hooked := rueidis.WithOnSubscriptionHook(ctx, func(rueidis.PubSubSubscription) { news() })
	r.listen(hooked, r.servers.Keys.Changes, func(string) { news() })
}

func (r *registry) listen(ctx context.Context, channel string, notify func(message string)) {
	c := r.servers.Subscriber
	for ctx.Err() == nil {
		err := c.Receive(ctx, c.B().Ssubscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { notify(m.Message) })
		if _, refused := rueidis.IsRedisErr(err); refused && ctx.Err() == nil {
			r.refused.Do(func() {
				r.log.Warn("this node cannot subscribe to the messages of other nodes: their new tasks may start up to one poll interval late", "channel", channel, "error", err)
			})
		}
		r.servers.Pause(ctx, rand.N(relisten)) // spreads the channels
	}
}
