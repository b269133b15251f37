package settings

import (
	"context"
	"strings"
)

// Actor is the client or the part of the server that requested a change. Store
// calls that make changes get it with their context.
type Actor struct {
	By    string // as the audit log shows it: Author of a token, "anonymous" on an open server, or a part of the server: "upkeep"
	Token string // the id of the token, which records of tasks keep; "": none
	Addr  string // the client's address, without its port; "" for a part of the server

	// Client is the tool of a person: "page" or "command line". It is "" for a
	// program. A client states its own tool, so this grants nothing.
	Client string
}

type actorKey struct{}

// WithActor returns a context; changes made with it are recorded with the actor a.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the actor of the changes made with ctx, or the zero Actor if ctx
// has none.
func ActorOf(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}

// Author returns the token as people see it: token:ID, and after a space its label,
// if it has one. The id comes first, because labels are not unique.
func (t *AccessToken) Author() string {
	if t.Label == "" {
		return tokenAuthor + t.ID
	}
	return tokenAuthor + t.ID + " " + t.Label
}

const tokenAuthor = "token:"

// SQLRole begins the id of a database role that made a change by an SQL function, in the place
// of the id of a token.
const SQLRole = "sql:"

// Author returns the token with that id as people see it, without a label if the
// record of the token was removed. Author returns "" for "", and a role as it is.
func (s *Settings) Author(id string) string {
	if id == "" || strings.HasPrefix(id, SQLRole) {
		return id
	}
	if t := s.TokenByID(id); t != nil {
		return t.Author()
	}
	return tokenAuthor + id
}
