package transfer

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/connect"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/manifest"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// exportSettings writes the objects of foliot apply: first all namespaces, then
// all queues, then all schedules.
func (c *Export) exportSettings(ctx context.Context, con *console.Console, api *client.Client, conn *connect.Flags) error {
	if c.Given() {
		return usage.Errorf("--settings", "cannot be combined with a filter, because the file must have all objects")
	}
	namespace, all, err := conn.Scope(ctx, api)
	if err != nil {
		return err
	}
	x := settingsExport{conn: conn, all: all, queues: map[manifest.Key]client.QueueSettings{}}
	if err := x.read(ctx, api, namespace); err != nil {
		return err
	}
	if err := writeTo(con, "export", c.File, x.write); err != nil {
		return err
	}
	con.Notef("exported %s", wording.Count(len(x.objects), "object"))
	return nil
}

// settingsExport holds the objects of an export.
type settingsExport struct {
	conn    *connect.Flags
	all     bool // of all namespaces
	objects []manifest.Object
	queues  map[manifest.Key]client.QueueSettings
}

// read reads the objects of all namespaces, or of the given one.
func (e *settingsExport) read(ctx context.Context, api *client.Client, namespace string) error {
	if !e.all {
		return e.readNamespace(ctx, api, namespace)
	}
	for n, err := range api.Namespaces.List(ctx) {
		if err != nil {
			return err
		}
		if n.Version > 0 { // the default namespace may have no settings
			e.objects = append(e.objects, manifest.OfNamespace(n))
		}
		api, err := e.conn.In(n.Name)
		if err != nil {
			return err
		}
		if err := e.readNamespace(ctx, api, n.Name); err != nil {
			return err
		}
	}
	return nil
}

func (e *settingsExport) readNamespace(ctx context.Context, api *client.Client, namespace string) error {
	for q, err := range api.Queues.List(ctx) {
		switch {
		case err != nil:
			return err
		case q.Version > 0: // others have only tasks
			o := manifest.OfQueue(namespace, q)
			e.objects, e.queues[o.Key] = append(e.objects, o), q.QueueSettings
		}
	}
	for s, err := range api.Schedules.List(ctx, client.ScheduleQuery{Bodies: true}) {
		switch {
		case err != nil:
			return err
		case s.Hidden:
			return fmt.Errorf("the namespace %s hides the bodies and headers of its schedules from this token: use a token of scope write", namespace)
		}
		e.objects = append(e.objects, manifest.OfSchedule(namespace, s))
	}
	return nil
}

// write writes one document for each object.
func (e *settingsExport) write(w io.Writer) error {
	slices.SortStableFunc(e.objects, func(a, b manifest.Object) int { return a.Compare(b.Key) })
	for i, o := range e.objects {
		if i > 0 {
			if _, err := io.WriteString(w, "---\n"); err != nil {
				return err
			}
		}
		if err := manifest.Write(w, o, e.queues[o.QueueKey()], e.all); err != nil {
			return err
		}
	}
	return nil
}
