// Package sessions ends sessions that were not used for half an hour. It does
// so even if the program was restarted in between.
package sessions

import (
	"context"
	"time"

	"github.com/foliot/foliot"
)

// Unused is how long a session can stay unused before it ends.
const Unused = 30 * time.Minute

type session struct{ User string }

var expire = foliot.NewKind[session]("expire-session")

// Handle sets the handler that ends sessions. If end returns an error, it is
// called again later.
func Handle(mux *foliot.Mux, end func(ctx context.Context, id, user string) error) {
	expire.Handle(mux, func(ctx context.Context, t *foliot.Task[session]) error {
		return end(ctx, t.Name, t.Args.User)
	})
}

// Used must be called for each use of a session. It begins the session, or
// restarts its timer.
func Used(ctx context.Context, s foliot.Scheduler, id, user string) error {
	_, err := expire.Put(ctx, s, id, foliot.In(Unused), session{user})
	return err
}

// Logout cancels the timer of a session that the user has ended.
func Logout(ctx context.Context, s foliot.Scheduler, id string) error {
	_, err := s.Cancel(ctx, id)
	return err
}
