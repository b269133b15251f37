package task

import (
	"context"
	"errors"
)

// Cluster is what a store that several nodes share tells about them. A store that
// one process has for itself does not implement it.
type Cluster interface {
	// Nodes returns the nodes that were heard of lately, in the order of their
	// names, where two say the same name who had it first; one that ended without a word stays for a while, and is not Live. Costs
	// a read of each shard's owner.
	Nodes(ctx context.Context) ([]Node, error)

	// Shards returns all shards, in the order of their numbers. Costs a few reads of
	// each.
	Shards(ctx context.Context) ([]Shard, error)

	// Drain carries d out, with its audit entry as ActorOf(ctx)'s in the same write.
	// It returns when that is durable; the node obeys within a heartbeat. What is
	// so already is left so, without an entry. Errors: *MissingError, ErrLastNode.
	Drain(ctx context.Context, now Millis, d Drain) error

	// Standing returns what this node knows without asking anybody.
	Standing() Standing
}

// Node is one of the processes that share a store.
type Node struct {
	Name      string
	Self      bool   // it is the one that was asked
	Version   string // of its program
	Address   string // host:port where it serves the API; "": it did not say
	StartedAt Millis
	BeatAt    Millis // when it was last heard of
	Live      bool   // that is not long ago
	Draining  bool   // it is to own no shards
	Owned     int    // shards that it owns
	Wanted    int    // shards that it is to own, as things stand
	NameTaken bool   // another process has its name, and had it before: it is to own none
}

// Shard is a part of the tasks, of which one node at a time claims.
type Shard struct {
	Number  int
	Owner   string // the node; "": nobody
	Until   Millis // when the owner's lease ends, unless it is renewed; 0: nobody owns it
	Epoch   uint64 // how often it was acquired
	NextDue Millis // not later than its earliest scheduled task is due; 0: it has none
	Running int    // tasks that are claimed
}

// Drain asks a node to give its shards to the others, and to take none until that
// is undone or its process ends. It goes on serving the API and finishes what
// it has claimed. While no other node lives it owns shards all the same, unless the
// drain was forced: then nobody delivers.
type Drain struct {
	Node  string
	Undo  bool
	Force bool // also where no other node could take the shards
}

// ErrLastNode says that a drain would leave nobody to deliver.
var ErrLastNode = errors.New("no other node lives that may own shards: its tasks would not be delivered until one comes; start another one first, or force it")

// Action is the noun and the verb for the audit log.
func (d Drain) Action() string {
	if d.Undo {
		return "node.undrain"
	}
	return "node.drain"
}

// AuditDrain returns the entry that records d. It belongs to the server, and to no namespace.
func AuditDrain(now Millis, who Actor, d Drain) AuditEntry {
	e := AuditEntry{At: now, By: who.By, Addr: who.Addr, Action: d.Action(), Target: d.Node}
	if d.Force && !d.Undo {
		e.Detail = "forced"
	}
	return e
}

// Standing is what a node knows of its part in a cluster.
type Standing struct {
	Shards    int    // there are so many
	Owned     int    // of them by this node
	Nodes     int    // that live, as it last heard
	Takeovers uint64 // shards that it took when the leases of others had ended
	Lost      uint64 // its own leases that ended before they could be renewed
	NameTaken bool   // another process that lives had its name before: it is to own none until that ends
	Rollbacks uint64 // times that the store went back in time: it was restored from an older copy, or a replica that was behind took over
	Closed    bool   // the store was emptied or replaced: ErrStoreReplaced, ErrSettingsLost
	Unfit     bool   // the store takes no new tasks, since it may lose them: ErrStoreUnfit
}
