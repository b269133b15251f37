package task

import "context"

// Actor is who asked for a change, as the audit log names it. It travels in the
// context of the calls that a store records.
type Actor struct {
	By   string // "token:<id>", "anonymous" on an open server, or a part of the server: "upkeep"
	Addr string // the client's address, without its port; "" for a part of the server
}

type actorKey struct{}

// WithActor returns a context whose changes are recorded as a's.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns whose changes those of ctx are. The zero Actor: nobody said.
func ActorOf(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}
