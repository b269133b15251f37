package dir_test

import (
	"context"
	"log"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
)

// The directory is created, with permissions for its owner alone.
func ExampleStore() {
	node, err := foliot.Open(context.Background(), dir.Store("/var/lib/shop/timers"), new(foliot.Mux), foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
}
