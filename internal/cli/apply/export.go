package apply

import (
	"context"
	"io"
	"slices"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/manifest"
)

// Export reads the objects in the scope of the caller. It returns their number, and
// a function that writes one document for each: first all namespaces, then all
// queues, then all schedules.
func Export(ctx context.Context, conn *connect.Flags, api *client.Client) (n int, write func(io.Writer) error, err error) {
	var within scope
	if within.namespace, within.all, err = conn.Scope(ctx, api); err != nil {
		return 0, nil, err
	}
	s := newServer(conn)
	objects, err := s.namespaces(ctx, within)
	if err != nil {
		return 0, nil, err
	}
	for _, space := range objects {
		inside, err := s.inside(ctx, space.Name, true)
		if err != nil {
			return 0, nil, err
		}
		objects = append(objects, inside...)
	}
	objects = slices.DeleteFunc(objects, func(o stored) bool { return o.Kind == manifest.Namespace && o.version == 0 }) // such as the default one
	slices.SortStableFunc(objects, func(a, b stored) int { return a.Compare(b.Key) })
	return len(objects), func(w io.Writer) error { return writeAll(w, objects, within.all) }, nil
}

func writeAll(w io.Writer, objects []stored, withNamespace bool) error {
	queues := map[manifest.Key]client.QueueSettings{}
	for i, o := range objects {
		if i > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		if o.Kind == manifest.Queue {
			queues[o.Key] = o.QueueSettings
		}
		if err := manifest.Write(w, o.Object, queues[o.QueueKey()], withNamespace); err != nil {
			return err
		}
	}
	return nil
}
