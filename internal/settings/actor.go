package settings

import "context"

// Actor is the client or the part of the server that requested a change, in the
// form of the audit log. The contexts of store calls that the audit log records
// carry it.
type Actor struct {
	By   string // "token:<id>", "anonymous" on an open server, or a part of the server: "upkeep"
	Addr string // the client's address, without its port; "" for a part of the server
}

type actorKey struct{}

// WithActor returns a context whose changes are recorded with the actor a.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of the changes made with ctx. It returns the zero
// Actor if ctx has none.
func ActorOf(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}
