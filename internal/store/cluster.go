package store

import (
	"context"
	"errors"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// Cluster is the part of a store that describes the nodes sharing it. A store
// for a single process does not implement Cluster.
type Cluster interface {
	// Nodes returns the nodes that sent a heartbeat recently, ordered by name.
	// Of two nodes with the same name, the one that had the name first comes
	// first. A node that stopped without signing off stays in the list for a
	// while, with Live false. Nodes reads the owner of each shard.
	Nodes(ctx context.Context) ([]Node, error)

	// Shards returns all shards, in the order of their numbers. It costs a few
	// reads for each.
	Shards(ctx context.Context) ([]Shard, error)

	// Drain applies d, and then writes its audit entry, with the actor
	// ActorOf(ctx). Drain returns when both are durable; the node obeys within a
	// heartbeat. If d changes nothing, Drain writes nothing. Errors:
	// *MissingError, ErrLastNode.
	Drain(ctx context.Context, now task.Millis, d Drain) error

	// Confirm follows an edit that Configure has applied, even if it changed
	// nothing. Confirm waits at most two seconds, until the watcher of each live
	// node has returned with these settings or newer ones. It returns the names
	// of the other live nodes. From then on, no node claims a task by older
	// settings. For an edit that stops nothing, Confirm returns at once.
	Confirm(ctx context.Context, e settings.Edit) (unconfirmed []string, err error)

	// Standing returns this node's view of the cluster, without I/O.
	Standing() Standing
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

// Shard is a part of the tasks. One node at a time claims from it.
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
// keeps its shards, unless the drain was forced. In that case no node delivers.
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

// AuditDrain returns the entry that records d. It belongs to the server, and to
// no namespace.
func AuditDrain(now task.Millis, who settings.Actor, d Drain) settings.AuditEntry {
	e := who.Entry(now, "", d.Action(), d.Node)
	if d.Force && !d.Undo {
		e.Detail = "forced"
	}
	return e
}

// Standing is a node's view of its part in a cluster.
type Standing struct {
	Node      string // the name of this node
	Shards    int    // the number of shards
	Owned     int    // owned by this node
	Nodes     int    // live ones, as of the last heartbeat
	Takeovers uint64 // shards that it took after the leases of other nodes had ended
	Lost      uint64 // its own leases that ended before they could be renewed
	NameTaken bool   // another live process had its name before: it must own no shards until that process ends
	Rollbacks uint64 // times that the store has older data than before: it lost the end of its file, was restored from an older copy, or failed over to a replica that was behind
	Closed    bool   // the store was emptied or replaced: ErrStoreReplaced, ErrSettingsLost
	Unfit     bool   // the store takes no new tasks, because it can lose them: ErrStoreUnfit
}
