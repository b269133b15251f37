package guide

import (
	"context"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
)

// Order holds the arguments of a task.
type Order struct{ ID string }

// shop is a program that takes orders.
type shop struct {
	mux   *foliot.Mux
	close func(ctx context.Context, t *foliot.Task[Order]) error
}

//doc:show readme

var closeOrder = foliot.NewKind[Order]("close-order")

func (s *shop) run(ctx context.Context) error {
	closeOrder.Handle(s.mux, s.close)
	node, err := foliot.Open(ctx, dir.Store("timers"), s.mux, foliot.Options{})
	if err != nil {
		return err
	}
	defer node.Close()
	go s.takeOrders(ctx, node)
	return node.Run(ctx) // until ctx ends
}

func (s *shop) open(ctx context.Context, timers foliot.Scheduler, id string) error {
	_, err := closeOrder.Put(ctx, timers, "close-"+id, foliot.In(30*time.Minute), Order{ID: id})
	return err // nil: the timer is on the disk. When it is paid: timers.Cancel(ctx, "close-"+id)
}

//doc:end

// takeOrders stands for the rest of the shop. It takes two orders, and the
// first one is paid.
func (s *shop) takeOrders(ctx context.Context, timers foliot.Scheduler) {
	for _, id := range []string{"41", "42"} {
		if err := s.open(ctx, timers, id); err != nil {
			return
		}
	}
	_, _ = timers.Cancel(ctx, "close-41") // if it fails, the test sees a closed order
}
