// Package search updates a search index some time after the last change of a
// document. The number of changes does not matter.
package search

import (
	"context"
	"time"

	"github.com/foliot/foliot"
)

// Quiet is how long a document must stay unchanged before it is indexed.
const Quiet = 5 * time.Second

type document struct{ ID string }

var index = foliot.NewKind[document]("index-document", foliot.Queue("search"))

// Handle sets the handler that indexes a document. A process indexes at most
// four documents at once.
func Handle(mux *foliot.Mux, do func(ctx context.Context, id string) error) {
	index.Handle(mux, func(ctx context.Context, t *foliot.Task[document]) error { return do(ctx, t.Args.ID) }, foliot.AtOnce(4))
}

// Changed must be called for each change of a document.
func Changed(ctx context.Context, s foliot.Scheduler, id string) error {
	_, err := index.Put(ctx, s, "index-"+id, foliot.In(Quiet), document{id})
	return err
}
