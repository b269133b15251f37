package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/task"
)

const (
	missingFirst = 5 * time.Second // the wait before the first call of Missing
	missingEvery = time.Minute     // the wait before each further call
)

// runs reports whether this node runs tasks of a namespace and a kind, where the
// empty kind stands for requests.
func (n *Node) runs(namespace, kind string) bool {
	if kind == "" {
		return n.dispatchConfig.Slots >= 0
	}
	_, runs := n.dispatchConfig.Kinds[kind]
	return runs && n.serves(namespace)
}

// serves reports whether the handlers of this node, if it has any, run tasks of
// a namespace.
func (n *Node) serves(namespace string) bool {
	of := n.dispatchConfig.KindsOf
	return of == "" || of == namespace
}

func (n *Node) Handles(namespace string) bool {
	return n.dispatchConfig.Handlers > 0 && n.serves(namespace)
}

// Missing returns the kinds, in alphabetical order, that have due tasks in this
// node, but no handler, where the empty kind stands for requests. others has the
// namespaces with due tasks of a kind, if the handlers do not run their tasks.
func (n *Node) Missing() (kinds, others []string) {
	found, of := map[string]bool{}, map[string]bool{}
	for _, d := range n.dispatch.Destinations() {
		switch kind := task.KindOf(d.Host); {
		case d.Overdue == 0 || n.runs(d.Namespace, kind):
		case kind == "" || n.serves(d.Namespace):
			found[kind] = true
		default:
			of[d.Namespace] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(of))
}

// watchMissing calls Missing at intervals until ctx ends, and logs each missing
// kind and each other namespace once.
func (n *Node) watchMissing(ctx context.Context) {
	logged := map[string]bool{} // the messages with their subjects
	once := func(message, key, subject string) {
		if said := message + subject; !logged[said] {
			logged[said] = true
			n.Log().Warn(message, key, subject)
		}
	}
	for wait := missingFirst; ; wait = missingEvery {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		kinds, others := n.Missing()
		for _, namespace := range others {
			once("due tasks with a kind wait because this process, which owns them, runs the tasks of another namespace: set Options.AllNamespaces, or cancel the tasks", "namespace", namespace)
		}
		for _, kind := range kinds {
			message := "due tasks wait because this process, which owns them, has no handler for their kind: handle the kind in each process of the store, or cancel the tasks"
			if kind == "" {
				message = "due tasks with a URL wait because this process, which owns them, sends no requests: set Options.URLs in each process of the store, keep the tasks in a store of their own, or cancel them"
			}
			once(message, "kind", kind)
		}
	}
}
