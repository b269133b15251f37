package node

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

// Missing returns the kinds, in alphabetical order, that have due tasks in this
// node, but that the node does not run. The empty kind stands for requests.
func (n *Node) Missing() []string {
	found := map[string]bool{}
	for _, d := range n.dispatch.Destinations() {
		if kind := task.KindOf(d.Host); d.Overdue > 0 && !n.Runs(kind) {
			found[kind] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// watchMissing calls Missing at intervals until ctx ends, and logs each missing
// kind once.
func (n *Node) watchMissing(ctx context.Context) {
	logged := map[string]bool{}
	for wait := missingFirst; ; wait = missingEvery {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		for _, kind := range n.Missing() {
			switch {
			case logged[kind]:
				continue
			case kind == "":
				n.log.Warn("due tasks with a URL wait because this process, which owns them, sends no requests: keep them in a store of their own, or cancel them")
			default:
				n.log.Warn("due tasks wait because this process, which owns them, has no handler for their kind: handle the kind in each process of the store, or cancel the tasks", "kind", kind)
			}
			logged[kind] = true
		}
	}
}
