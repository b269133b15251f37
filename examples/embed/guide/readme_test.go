package guide

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
)

func TestTheShopClosesTheOrderThatIsNotPaid(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		var closed []string
		s := &shop{new(foliot.Mux), func(_ context.Context, t *foliot.Task[Order]) error {
			closed = append(closed, t.Args.ID)
			return nil
		}}
		if err := s.run(ctx); err != nil {
			t.Fatal(err)
		}
		if len(closed) != 1 || closed[0] != "42" {
			t.Errorf("closed: %q", closed)
		}
	})
}
