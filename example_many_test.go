package foliot_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
)

// An import creates many reminders with one write, and a customer who leaves
// needs none of them.
func ExampleNode_CreateMany() {
	type Invoice struct{ ID string }
	remind := foliot.NewKind[Invoice]("remind")

	ctx := context.Background()
	node, err := foliot.Open(ctx, foliottest.Store(), nil, foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()

	var items []foliot.Item
	for _, id := range []string{"1", "2", "3", "2"} {
		due := foliot.Local("2031-03-28 09:00", "Europe/Berlin")
		items = append(items, remind.Item("remind-"+id, due, Invoice{ID: id}, foliot.Label("customer", "7")))
	}
	results, err := node.CreateMany(ctx, items)
	if err != nil {
		log.Fatal(err)
	}
	for i, r := range results { // err is nil, although one of them has failed
		fmt.Println(i, r.Info.Due.UTC().Format(time.DateTime), errors.Is(r.Err, foliot.ErrExists))
	}

	var names []string
	for i, err := range node.List(ctx, foliot.Filter{Labels: map[string]string{"customer": "7"}}) {
		if err != nil {
			log.Fatal(err)
		}
		names = append(names, i.Name)
	}
	cancels, err := node.CancelMany(ctx, names)
	for _, c := range cancels {
		err = errors.Join(err, c.Err)
	}
	fmt.Println(len(cancels), "reminders are cancelled:", err)
	// Output:
	// 0 2031-03-28 08:00:00 false
	// 1 2031-03-28 08:00:00 false
	// 2 2031-03-28 08:00:00 false
	// 3 0001-01-01 00:00:00 true
	// 3 reminders are cancelled: <nil>
}
