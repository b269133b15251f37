package outgoing

import (
	"errors"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
)

func TestASecretSignsAsLongAsTheNodesClockSays(t *testing.T) {
	now := time.Date(2040, 2, 29, 12, 0, 0, 0, time.UTC)
	n := &engine.Node{Opened: &engine.Opened{Store: memstore.New(memstore.Config{}), Clock: func() time.Time { return now }}}
	for _, overlap := range []time.Duration{0, time.Hour} {
		at := task.CeilMillis(now)
		e := settings.AddSecret{Namespace: task.DefaultNamespace, ID: task.NewID(at), Secret: settings.MintSecret(), Overlap: task.Millis(overlap.Milliseconds())}
		replies, err := n.Store.Configure(t.Context(), at, []settings.Edit{e})
		if err = errors.Join(err, replies[0].Err); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Hour - time.Millisecond)
	if secrets := signingSecrets(n, task.DefaultNamespace, ""); len(secrets) != 2 {
		t.Errorf("during the rotation %d secrets sign, want 2", len(secrets))
	}
	now = now.Add(time.Millisecond)
	if secrets := signingSecrets(n, task.DefaultNamespace, ""); len(secrets) != 1 {
		t.Errorf("after the rotation %d secrets sign, want 1", len(secrets))
	}
}
