package admin

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/internal/wire"
)

// Secrets manages the secrets that sign the requests of the client's namespace;
// its methods need a token of scope admin.
type Secrets struct{ conn conn.Conn }

// SecretSpec describes a signing secret to create.
type SecretSpec struct {
	// Queue limits the secret to one queue, whose requests are then signed with
	// its own secrets alone. Default: the secret signs for all queues of the
	// namespace without one.
	Queue  string
	Secret string // your own, as Standard Webhooks writes it: whsec_…. Default: the server creates one
	// Overlap is the time for which the existing secrets still sign. Default:
	// until they are deleted. With the first secret of a queue, those of the
	// namespace stop signing for that queue at once unless Overlap is set.
	Overlap time.Duration
}

// Secret is a signing secret as the server returns it.
type Secret struct {
	ID                  string
	Queue               string // the only queue it signs for; "": all queues of the namespace without a secret of their own
	CreatedAt           time.Time
	ExpiresAt           time.Time // zero: it signs until it is deleted
	NamespaceSignsUntil time.Time // for a queue's secret: until then the namespace's secrets sign for the queue too; zero: they do not
	// Secret is the key for the receivers, which only Create returns.
	Secret      string
	Unconfirmed []string // after a Delete: the nodes that may still sign with it
}

// String describes the secret for a log, without its key.
func (s Secret) String() string { return "secret " + s.ID }

// Create creates a signing secret. At most two secrets of a namespace, and two
// of a queue, sign at a time. The client does not repeat this call: if its
// reply is lost, delete the newest secret and create another.
func (ss Secrets) Create(ctx context.Context, s SecretSpec) (*Secret, error) {
	made := new(Secret)
	_, err := ss.conn.Do(ctx, &conn.Call{Op: "create a secret", Method: http.MethodPost, Path: "/secrets", Send: s, Into: made})
	return conn.OrNil(made, err), err
}

// List returns the active secrets: those of the namespace, then those of its
// queues by queue name, the newest first in each group. An error is the last item.
func (ss Secrets) List(ctx context.Context) iter.Seq2[*Secret, error] {
	return func(yield func(*Secret, error) bool) {
		var list struct {
			Secrets []*Secret `json:"secrets"`
		}
		if _, err := ss.conn.Do(ctx, &conn.Call{Op: "list secrets", Method: http.MethodGet, Path: "/secrets", Repeatable: true, Into: &list}); err != nil {
			yield(nil, err)
			return
		}
		for _, s := range list.Secrets {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Delete deletes a signing secret, which then signs nothing. Errors:
// client.ErrNotFound.
func (ss Secrets) Delete(ctx context.Context, id string) (*Secret, error) {
	s, _, err := conn.Named[Secret](ctx, ss.conn, "delete secret", "/secrets/", id, &conn.Call{Method: http.MethodDelete})
	return s, err
}

func (s SecretSpec) MarshalJSON() ([]byte, error) { return encode[wire.SecretInput](s) }

// MarshalJSON returns the secret, with its key if that is known, as the API
// writes it.
func (s Secret) MarshalJSON() ([]byte, error) { return encode[wire.Secret](s) }

func (s *Secret) UnmarshalJSON(data []byte) error { return decode[wire.Secret](data, s) }
