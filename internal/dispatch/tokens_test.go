package dispatch

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

func TestATaskRunByHandNeedsNoSharedToken(t *testing.T) {
	withRemotePermits(t, time.Millisecond, accept, func(b *bed, _ *remotePermits) {
		b.Configure(limit("limited", settings.QueueSettings{Rate: 0.001, Burst: 1, Paused: true}))
		b.create("t", time.Hour, in("limited"))
		b.apply(task.Run{Key: key("t")})
		b.pass(time.Second)
		b.wantCalls(1)
	})
}
