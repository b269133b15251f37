package apply

import (
	"context"
	"errors"
	"net/http"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/manifest"
	"github.com/foliot/foliot/internal/cli/transfer"
)

// server reads and writes objects in any namespace.
type server struct {
	conn    *connect.Flags
	clients map[string]*client.Client // by namespace
	behind  []string                  // the nodes that had not applied the last change of settings, and perhaps earlier ones
}

func newServer(conn *connect.Flags) *server {
	return &server{conn: conn, clients: map[string]*client.Client{}}
}

// stored is an object of the server in the version that was read.
type stored struct {
	manifest.Object
	owner     string
	condition client.Condition // holds while the object has this version
	counts    client.Counts
	schedules int64 // of a namespace
}

// in returns a client for a namespace. Namespaces themselves are in "".
func (s *server) in(namespace string) (*client.Client, error) {
	if api := s.clients[namespace]; api != nil {
		return api, nil
	}
	api, err := s.conn.In(namespace)
	if err != nil {
		return nil, err
	}
	s.clients[namespace] = api
	return api, nil
}

// get returns the object with a key, or nil if the server does not have it. A
// queue without settings does not exist, and the default namespace always does.
func (s *server) get(ctx context.Context, key manifest.Key) (*stored, error) {
	api, err := s.in(key.Namespace)
	if err != nil {
		return nil, err
	}
	switch key.Kind {
	case manifest.Namespace:
		n, err := api.Namespaces.Get(ctx, key.Name)
		if err != nil {
			return nil, unlessMissing(err)
		}
		return ofNamespace(n), nil
	case manifest.Queue:
		q, err := api.Queues.Get(ctx, key.Name)
		if err != nil || q.Version == 0 {
			return nil, unlessMissing(err)
		}
		return ofQueue(key.Namespace, q), nil
	}
	found, err := api.Schedules.Get(ctx, key.Name)
	if err != nil {
		return nil, unlessMissing(err)
	}
	if found.Hidden {
		return nil, errors.New(key.String() + ": the namespace hides the bodies and headers from this token, so they cannot be compared: use a token of scope write")
	}
	return ofSchedule(key.Namespace, found), nil
}

func ofNamespace(n *client.Namespace) *stored {
	s := &stored{Object: manifest.OfNamespace(n), owner: n.ManagedBy, condition: client.IfMatch(n.ETag()), counts: n.Counts, schedules: n.Schedules}
	if n.Version == 0 {
		s.condition = client.IfNoneMatch()
	}
	return s
}

func ofQueue(namespace string, q *client.Queue) *stored {
	return &stored{Object: manifest.OfQueue(namespace, q), owner: q.ManagedBy, condition: client.IfMatch(q.ETag()), counts: q.Counts}
}

func ofSchedule(namespace string, s *client.Schedule) *stored {
	return &stored{Object: manifest.OfSchedule(namespace, s), owner: s.ManagedBy, condition: client.IfMatch(s.ETag())}
}

// unlessMissing returns err, or nil if err means that the object does not
// exist. In a namespace that does not exist, nothing exists.
func unlessMissing(err error) error {
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil
	}
	return err
}

// put creates or replaces an object if the condition holds.
func (s *server) put(ctx context.Context, o manifest.Object, condition client.Condition) error {
	api, err := s.in(o.Namespace)
	if err != nil {
		return err
	}
	switch o.Kind {
	case manifest.Namespace:
		var n *client.Namespace
		n, err = transfer.WithinRate(ctx, func() (*client.Namespace, error) {
			return api.Namespaces.Put(ctx, o.Name, o.NamespaceSettings, condition)
		})
		if err == nil {
			s.behind = n.Unconfirmed
		}
	case manifest.Queue:
		var q *client.Queue
		q, err = transfer.WithinRate(ctx, func() (*client.Queue, error) {
			return api.Queues.Put(ctx, o.Name, o.QueueSettings, condition)
		})
		if err == nil {
			s.behind = q.Unconfirmed
		}
	case manifest.Schedule:
		_, err = transfer.PutSchedule(ctx, api, transfer.ScheduleLine{Name: o.Name, Spec: o.ScheduleSpec}, condition)
	}
	return err
}

// remove deletes an object if the condition holds. The server deletes a
// namespace only if it is empty.
func (s *server) remove(ctx context.Context, key manifest.Key, condition client.Condition) error {
	api, err := s.in(key.Namespace)
	if err != nil {
		return err
	}
	switch key.Kind {
	case manifest.Namespace:
		_, err = transfer.WithinRate(ctx, func() (*client.Namespace, error) { return api.Namespaces.Delete(ctx, key.Name, condition) })
	case manifest.Queue:
		_, err = transfer.WithinRate(ctx, func() (*client.Queue, error) { return api.Queues.Delete(ctx, key.Name, condition) })
	case manifest.Schedule:
		_, err = transfer.WithinRate(ctx, func() (*client.Schedule, error) { return api.Schedules.Delete(ctx, key.Name, condition) })
	}
	return err
}
