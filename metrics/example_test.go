package metrics_test

import (
	"context"
	"log"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/metrics"
)

// A program adds the figures of its Node to its own metrics.
func ExampleNew() {
	node, err := foliot.Open(context.Background(), foliottest.Store(), new(foliot.Mux), foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	prometheus.MustRegister(metrics.New(node))
}
