package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/manifest"
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
	condition client.CallOption // holds while the object has this version
	counts    client.Counts
	version   uint64 // of the settings; 0: there are none, or it is a schedule
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
		n, err := admin.New(api).Namespaces.Get(ctx, key.Name)
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

// namespaces returns the namespaces of a scope. The only one of a caller
// without operator rights has no settings.
func (s *server) namespaces(ctx context.Context, within scope) (all []stored, err error) {
	if !within.all {
		return []stored{{Object: manifest.Object{Key: manifest.Key{Kind: manifest.Namespace, Name: within.namespace}}}}, nil
	}
	api, err := s.in("")
	if err != nil {
		return nil, err
	}
	for n, err := range admin.New(api).Namespaces.List(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, *ofNamespace(n))
	}
	return all, nil
}

// inside returns the queues with settings and the schedules of a namespace.
func (s *server) inside(ctx context.Context, namespace string, bodies bool) (all []stored, err error) {
	api, err := s.in(namespace)
	if err != nil {
		return nil, err
	}
	for q, err := range api.Queues.List(ctx) {
		switch {
		case err != nil:
			return nil, err
		case q.Version > 0: // others have only tasks
			all = append(all, *ofQueue(namespace, q))
		}
	}
	for one, err := range api.Schedules.List(ctx, client.ScheduleQuery{Bodies: bodies}) {
		switch {
		case err != nil:
			return nil, err
		case bodies && one.Hidden:
			return nil, fmt.Errorf("the namespace %s hides the bodies and headers of its schedules from this token: use a token of scope write", namespace)
		}
		all = append(all, *ofSchedule(namespace, one))
	}
	return all, nil
}

func ofNamespace(n *admin.Namespace) *stored {
	return &stored{manifest.Object{Key: manifest.Key{Kind: manifest.Namespace, Name: n.Name}, NamespaceSettings: n.NamespaceSettings}, connect.Unchanged(n.ETag()), n.Counts, n.Version}
}

func ofQueue(namespace string, q *client.Queue) *stored {
	return &stored{manifest.Object{Key: manifest.Key{Kind: manifest.Queue, Namespace: namespace, Name: q.Name}, QueueSettings: q.QueueSettings}, connect.Unchanged(q.ETag()), q.Counts, q.Version}
}

func ofSchedule(namespace string, s *client.Schedule) *stored {
	return &stored{Object: manifest.Object{Key: manifest.Key{Kind: manifest.Schedule, Namespace: namespace, Name: s.Name}, ScheduleSpec: s.ScheduleSpec}, condition: client.IfMatch(s.ETag())}
}

// unlessMissing returns err, or nil if err means that the object does not
// exist. In a namespace that does not exist, nothing exists.
func unlessMissing(err error) error {
	if errors.Is(err, client.ErrNotFound) {
		return nil
	}
	return err
}

func (s *server) put(ctx context.Context, o manifest.Object, condition client.CallOption) error {
	api, err := s.in(o.Namespace)
	if err != nil {
		return err
	}
	return console.WithinRate(ctx, func() error {
		switch o.Kind {
		case manifest.Namespace:
			n, err := admin.New(api).Namespaces.Put(ctx, o.Name, o.NamespaceSettings, condition)
			if err == nil {
				s.behind = n.Unconfirmed
			}
			return err
		case manifest.Queue:
			q, err := api.Queues.Put(ctx, o.Name, o.QueueSettings, condition)
			if err == nil {
				s.behind = q.Unconfirmed
			}
			return err
		}
		_, err := api.Schedules.Put(ctx, o.Name, o.ScheduleSpec, condition)
		return err
	})
}

// remove deletes an object if the condition holds. The server deletes a
// namespace only if it is empty.
func (s *server) remove(ctx context.Context, key manifest.Key, condition client.CallOption) error {
	api, err := s.in(key.Namespace)
	if err != nil {
		return err
	}
	return console.WithinRate(ctx, func() error {
		switch key.Kind {
		case manifest.Namespace:
			_, err = admin.New(api).Namespaces.Delete(ctx, key.Name, condition)
		case manifest.Queue:
			_, err = api.Queues.Delete(ctx, key.Name, condition)
		default:
			_, err = api.Schedules.Delete(ctx, key.Name, condition)
		}
		return err
	})
}
