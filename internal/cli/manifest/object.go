package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/usage"
)

// Kind is the kind of an object, as the field kind names it.
type Kind string

// The kinds, in the order in which objects are created: an object needs objects
// of earlier kinds.
const (
	Namespace Kind = "namespace"
	Queue     Kind = "queue"
	Schedule  Kind = "schedule"
)

var kinds = []Kind{Namespace, Queue, Schedule}

// Key identifies an object.
type Key struct {
	Kind      Kind   `json:"kind"`
	Namespace string `json:"namespace,omitempty"` // "" for an object of kind Namespace
	Name      string `json:"name"`
}

// String returns the kind and the name, and the namespace unless that is the
// default one.
func (k Key) String() string {
	if k.Kind == Namespace {
		return string(k.Kind) + " " + k.Name
	}
	return string(k.Kind) + " " + wording.Qualified(k.Namespace, k.Name)
}

// Compare orders keys by kind, namespace and name. Kinds are in the order in
// which objects are created.
func (k Key) Compare(other Key) int {
	return cmp.Or(
		cmp.Compare(slices.Index(kinds, k.Kind), slices.Index(kinds, other.Kind)),
		strings.Compare(k.Namespace, other.Namespace),
		strings.Compare(k.Name, other.Name),
	)
}

// Object is a namespace, a queue or a schedule with its settings. Only the
// settings of its kind are used.
type Object struct {
	Key

	NamespaceSettings admin.NamespaceSettings
	QueueSettings     client.QueueSettings
	ScheduleSpec      client.ScheduleSpec

	json  []byte         // the settings as the file has them
	file  string         // "" for an object of a server
	lines map[string]int // the line of each field of the file, by its path
}

func (o *Object) form() interface {
	json.Marshaler
	json.Unmarshaler
} {
	switch o.Kind {
	case Namespace:
		return &o.NamespaceSettings
	case Queue:
		return &o.QueueSettings
	}
	return &o.ScheduleSpec
}

// Owner returns the owner of the object, which can be set.
func (o *Object) Owner() *string {
	switch o.Kind {
	case Namespace:
		return &o.NamespaceSettings.ManagedBy
	case Queue:
		return &o.QueueSettings.ManagedBy
	}
	return &o.ScheduleSpec.ManagedBy
}

// Place returns the file and the line of a field, or of the closest field that
// contains it. The path "" is the object itself.
func (o *Object) Place(path string) string {
	for {
		if line, ok := o.lines[path]; ok || path == "" {
			return fmt.Sprintf("%s:%d", o.file, line)
		}
		path = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
}

// Errorf returns an error about a field of the object, with its file and line.
func (o *Object) Errorf(path, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	return usage.Errorf(o.Place(path), "%s: %s", o.Key, text)
}
