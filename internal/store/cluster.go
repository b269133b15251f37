package store

import (
	"context"
	"errors"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// Reaper takes back leases of processes that do not extend them any more.
type Reaper interface {
	// Reap takes back at most limit leases that ended at or before now, and
	// returns how many. A store for a single process reaps every lease when it
	// is opened; its owner never needs to call Reap.
	Reap(ctx context.Context, now task.Millis, limit int) (int, error)
}

// Cluster is the part of a store that describes the nodes sharing it, so a store
// for a single process does not implement it.
type Cluster interface {
	Reaper

	// Nodes returns the nodes that sent a heartbeat recently, ordered by name.
	// Of two nodes with the same name, the one that had the name first comes
	// first. A node that stopped without signing off stays in the list for a
	// while, with Live false. Nodes reads the owner of each shard.
	Nodes(ctx context.Context) ([]Node, error)

	// Shards returns all shards, in the order of their numbers, at the cost of a
	// few reads for each.
	Shards(ctx context.Context) ([]Shard, error)

	// Drain applies d, and then writes its audit entry, with the actor
	// ActorOf(ctx). Drain returns when both are durable; the node obeys within a
	// heartbeat. Drain writes nothing if d changes nothing. Errors:
	// *MissingError, ErrLastNode.
	Drain(ctx context.Context, now task.Millis, d Drain) error
}

// Node is one of the processes that share a store.
type Node struct {
	Name      string
	Self      bool   // the node that this process is
	Version   string // the version of its program
	Address   string // host:port where it serves the API; empty means unknown
	StartedAt task.Millis
	BeatAt    task.Millis // the time of its last heartbeat
	Live      bool        // BeatAt is recent
	Draining  bool        // it must own no shards
	Owned     int         // shards that it owns
	Wanted    int         // the number of shards that it should own at present
	NameTaken bool        // another process had its name before: it must own no shards
}

// Shard is a part of the tasks, from which one node at a time claims.
type Shard struct {
	Number  int
	Owner   string      // the name of the node; empty means no owner
	Until   task.Millis // the end of the owner's lease, unless it is renewed; zero means no owner
	Epoch   uint64      // how often it was acquired
	NextDue task.Millis // a lower bound of the due times of its scheduled tasks; zero means that it has none
	Running int         // tasks that are claimed
}

// Drain makes a node release its shards and take no other shards, until the
// drain is undone or the node's process ends. The node still serves the API and
// finishes the tasks it has claimed. If no other node lives, a drained node
// keeps its shards, unless the drain was forced, so that no node delivers.
type Drain struct {
	Node  string
	Undo  bool
	Force bool // drain even if no other node could take the shards
}

// ErrLastNode reports that no node would be left to deliver tasks.
var ErrLastNode = errors.New("no other live node may own shards, so no tasks would be delivered")

// Action is the noun and the verb for the audit log.
func (d Drain) Action() string {
	if d.Undo {
		return "node.undrain"
	}
	return "node.drain"
}

// AuditDrain returns the entry that records d, which belongs to the server, and
// to no namespace.
func AuditDrain(now task.Millis, who settings.Actor, d Drain) settings.AuditEntry {
	e := who.Entry(now, "", d.Action(), d.Node)
	if d.Force && !d.Undo {
		e.Detail = "forced"
	}
	return e
}
