package traces_test

import (
	"context"
	"log"

	"go.opentelemetry.io/otel"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/traces"
)

// The handlers of a Node have spans of the global provider.
func ExampleNew() {
	tracer := traces.New(otel.GetTracerProvider())
	node, err := foliot.Open(context.Background(), foliottest.Store(), new(foliot.Mux), foliot.Options{Tracer: tracer})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
}
