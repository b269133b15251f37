package foliot_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
)

// Each change of a document puts the same task, so one backup is made a minute
// after the last change.
func ExampleKind_Put() {
	type Document struct{ ID string }
	backup := foliot.NewKind[Document]("backup")

	ctx := context.Background()
	node, err := foliot.Open(ctx, foliottest.Store(), nil, foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()

	for range 3 { // changes
		if _, err := backup.Put(ctx, node, "backup-7", foliot.In(time.Minute), Document{ID: "7"}); err != nil {
			log.Fatal(err)
		}
	}
	for i, err := range node.List(ctx, foliot.Filter{Kind: "backup"}) {
		fmt.Println(i.Name, i.State, err)
	}
	// Output:
	// backup-7 scheduled <nil>
}

// A program sets its schedules at each start, which changes nothing after the
// first time.
func ExampleKind_Schedule() {
	type Report struct{ Of string }
	sendReport := foliot.NewKind[Report]("send-report")

	ctx := context.Background()
	node, err := foliot.Open(ctx, foliottest.Store(), nil, foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()

	rule := foliot.Cron("0 9 * * MON-FRI", "Europe/Berlin")
	rule.Overlap = foliot.SkipOverlap // if yesterday's report is still being sent
	if err := sendReport.Schedule(ctx, node, "sales", rule, Report{Of: "sales"}); err != nil {
		log.Fatal(err)
	}

	fmt.Println(node.Unschedule(ctx, "sales")) // no reports any more
	// Output:
	// <nil>
}

// A shop suspends its mail until a provider is back, and then sends at most ten
// messages a second.
func ExampleQueues() {
	ctx := context.Background()
	node, err := foliot.Open(ctx, foliottest.Store(), nil, foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()

	queues := node.Queues()
	if err := queues.Set(ctx, "mail", foliot.QueueLimits{Rate: 10}); err != nil {
		log.Fatal(err)
	}
	if err := queues.Pause(ctx, "mail", time.Now().Add(time.Hour)); err != nil {
		log.Fatal(err)
	}
	mail, err := queues.Get(ctx, "mail")
	fmt.Println(mail.Rate, mail.Paused, err)
	// Output:
	// 10 true <nil>
}

// recorder replaces a Scheduler in a test. The embedded Scheduler is nil,
// because the test calls none of the other methods.
type recorder struct {
	foliot.Scheduler
	names []string
}

// CreateMany records the names of the tasks.
func (r *recorder) CreateMany(_ context.Context, items []foliot.Item) ([]foliot.Result, error) {
	for _, i := range items {
		r.names = append(r.names, i.Name())
	}
	return make([]foliot.Result, len(items)), nil
}

// A type that embeds a Scheduler can replace or wrap one.
func ExampleScheduler() {
	closeOrder := foliot.NewKind[struct{}]("close-order")
	r := new(recorder)
	_, err := closeOrder.In(context.Background(), r, "close-42", 30*time.Minute, struct{}{})
	fmt.Println(r.names, err)
	// Output:
	// [close-42] <nil>
}
