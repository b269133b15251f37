package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/manifest"
	"github.com/foliot/foliot/internal/task"
)

// action is the kind of a change.
type action string

const (
	created action = "create"
	changed action = "change"
	deleted action = "delete"
)

// change is one difference between the server and the files, in the form of -o json.
type change struct {
	Action action `json:"action"`
	manifest.Key
	Fields  []manifest.Difference `json:"fields,omitempty"`  // of an object that is created or changed
	Tasks   int64                 `json:"tasks,omitempty"`   // that a deleted queue has
	Refused string                `json:"refused,omitempty"` // the reason that the object stays as it is: another owner has it, or the server would not delete it, or not without something else

	to        manifest.Object   // that is written; unused if Action is deleted
	condition client.CallOption // holds while the server has the version that was read
}

// plan is the list of all changes, in the order in which they are made.
type plan struct {
	changes   []change
	blocked   []change // that are not made
	unchanged int

	// left counts the objects that --prune leaves because the files do not name
	// their namespaces, which are leftIn.
	left   int
	leftIn []string
}

// planner compares the objects of the files with those of the server.
type planner struct {
	all     bool // the caller may act in all namespaces
	owner   string
	adopt   bool
	pruning bool // objects of the owner that are not in the files are deleted
	server  *server
	objects map[manifest.Key]*manifest.Object     // of the files
	queues  map[manifest.Key]client.QueueSettings // that are not in the files, or belong to another owner
}

// plan returns the changes that make the server equal to the objects, which are
// in the order in which they are created. It returns all objects without a
// namespace at once. An object of another owner blocks no other: a tenant may own
// a queue in a namespace that the operator wants to suspend.
func (p *planner) plan(ctx context.Context, objects []manifest.Object) (*plan, error) {
	for i := range objects {
		p.objects[objects[i].Key] = &objects[i]
	}
	result := &plan{}
	var homeless []error
	for i := range objects {
		o := &objects[i]
		found, err := p.server.get(ctx, o.Key)
		if err != nil {
			return nil, err
		}
		if found != nil && *found.Owner() != "" && *found.Owner() != p.owner && !p.adopt {
			result.blocked = append(result.blocked, change{Key: o.Key, Action: changed, Refused: fmt.Sprintf("it belongs to the owner %q: remove it from the files of one owner, or pass --adopt to become the owner", *found.Owner())})
			p.queues[o.Key] = found.QueueSettings
			continue
		}
		if err := p.checkNamespace(ctx, o, found); err != nil {
			homeless = append(homeless, err)
			continue
		}
		ch, err := p.compare(ctx, o, found)
		switch {
		case err != nil:
			return nil, err
		case ch == nil:
			result.unchanged++
		default:
			result.changes = append(result.changes, *ch)
		}
	}
	return result, errors.Join(homeless...)
}

// checkNamespace returns an error if a new object is in a namespace that does not
// exist. The one namespace of a caller without operator rights exists.
func (p *planner) checkNamespace(ctx context.Context, o *manifest.Object, found *stored) error {
	namespace := manifest.Key{Kind: manifest.Namespace, Name: o.Namespace}
	if !p.all || found != nil || o.Kind == manifest.Namespace || p.objects[namespace] != nil {
		return nil
	}
	if existing, err := p.server.get(ctx, namespace); err != nil || existing != nil {
		return err
	}
	return o.Errorf("namespace", "there is no namespace %s: add it to the files, or create it with `foliot namespace set %[1]s`", o.Namespace)
}

// compare returns the change that makes the object of the server equal to that
// of the files, or nil if there is none. found is nil if the server does not
// have the object.
func (p *planner) compare(ctx context.Context, o *manifest.Object, found *stored) (*change, error) {
	queue, err := p.defaultsOf(ctx, o)
	if err != nil {
		return nil, err
	}
	ch := &change{Key: o.Key, Action: created, to: o.Complete(queue), condition: client.IfNoneMatch()}
	from := manifest.Object{Key: o.Key}
	if found != nil {
		ch.Action, ch.condition = changed, found.condition
		from = found.Complete(queue)
	}
	if ch.Fields, err = manifest.Diff(from, ch.to); err != nil {
		return nil, err
	}
	own := found == nil || p.adopt && *found.Owner() != p.owner
	if own && !isDefault(o.Key) { // which is never deleted
		*ch.to.Owner() = p.owner
		if found != nil {
			ch.Fields = append(ch.Fields, manifest.Difference{Field: "managed_by", From: quoted(*found.Owner()), To: quoted(p.owner)})
		}
	}
	if found != nil && len(ch.Fields) == 0 {
		return nil, nil
	}
	return ch, nil
}

// defaultsOf returns the settings that the queue of a schedule's tasks has
// after all changes.
func (p *planner) defaultsOf(ctx context.Context, o *manifest.Object) (client.QueueSettings, error) {
	if o.Kind != manifest.Schedule {
		return client.QueueSettings{}, nil
	}
	key := o.QueueKey()
	if queue, known := p.queues[key]; known {
		return queue, nil
	}
	if queue := p.objects[key]; queue != nil {
		return queue.QueueSettings, nil
	}
	found, err := p.server.get(ctx, key)
	if err != nil {
		return client.QueueSettings{}, err
	}
	if found != nil && !(p.pruning && *found.Owner() == p.owner) { // it is deleted at the end
		p.queues[key] = found.QueueSettings
	} else {
		p.queues[key] = client.QueueSettings{}
	}
	return p.queues[key], nil
}

func isDefault(key manifest.Key) bool {
	return key.Kind == manifest.Namespace && key.Name == task.DefaultNamespace
}

// quoted returns a name as JSON, nil for "". Names need no escapes.
func quoted(name string) json.RawMessage {
	if name == "" {
		return nil
	}
	return json.RawMessage(fmt.Sprintf("%q", name))
}
