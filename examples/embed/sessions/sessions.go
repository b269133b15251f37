// Package sessions ends sessions that were not used for half an hour, also if
// the program was restarted in between.
package sessions

import (
	"context"
	"time"

	"github.com/foliot/foliot"
)

// Unused is how long a session lasts without use.
const Unused = 30 * time.Minute

type session struct{ User string }

var expire = foliot.NewKind[session]("expire-session")

// Handle sets the handler that ends sessions.
func Handle(mux *foliot.Mux, end func(ctx context.Context, id, user string) error) {
	expire.Handle(mux, func(ctx context.Context, t *foliot.Task[session]) error {
		return end(ctx, t.Name, t.Args.User)
	})
}

// Used begins the session, or starts its time again.
func Used(ctx context.Context, s foliot.Scheduler, id, user string) error {
	_, err := expire.Put(ctx, s, id, foliot.In(Unused), session{user})
	return err
}

// Logout ends the time of the session, so that it does not expire later.
func Logout(ctx context.Context, s foliot.Scheduler, id string) error {
	_, err := s.Cancel(ctx, id)
	return err
}
