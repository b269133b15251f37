package membership

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Registry is the shared memory of the nodes. Each call is atomic, and measures
// times with the registry's own clock, but one that fails may have been applied.
type Registry interface {
	// Beat sends a heartbeat of the given mode, and returns all nodes. A name
	// belongs to the first process that has it, until that one leaves or is silent
	// for longer than silence, and a process that comes later is a duplicate. With
	// Config.BeatRenews it also renews the leases of the shards of this process,
	// unless it is missing or a duplicate.
	Beat(ctx context.Context, mode Mode, self *Peer, silence time.Duration) (Nodes, error)

	// Lease acquires, renews, releases or reads the leases of shards. process is the
	// beginning of the ids of their owner.
	Lease(ctx context.Context, verb Verb, process string, length time.Duration, shards []int) []LeaseReply

	// Owners returns the lease of every shard.
	Owners(ctx context.Context) ([]Lease, error)

	// Announce makes the other nodes read the nodes at once, but may be lost.
	Announce(ctx context.Context)

	// Listen calls news for each announcement, and when it has begun to listen,
	// until ctx ends.
	Listen(ctx context.Context, news func())
}

// Publisher is a registry that also has the sums of the nodes.
type Publisher interface {
	// Publish replaces the published sums of a node; nil removes them. Published
	// returns those of all nodes, by their names.
	Publish(ctx context.Context, node string, sums []byte) error
	Published(ctx context.Context) (map[string][]byte, error)
}

// Peer is a node as the registry describes it, and is comparable.
type Peer struct {
	Name, Nonce, Version, Address string

	Applied string // the version of the settings that it has applied
	More    string // further addresses of its API: host:port, separated by commas
	Role    string // what its process is: foliotServe or aProgram; empty means unknown

	Lag time.Duration // how far its trusted time is behind the registry's clock, because that stepped ahead

	Beat      task.Millis // its last heartbeat
	Started   task.Millis
	Draining  bool
	Forced    bool // the drain was forced
	Duplicate bool // another process had its name first: it owns nothing
	Dead      bool // it ended without notice
}

// Process returns the beginning of the owner ids of this node, without the epoch.
func (p *Peer) Process() string { return p.Name + "/" + p.Nonce }

func (p *Peer) where() string { return cmp.Or(p.Address, "an unknown address") }

// Mode is the mode of a heartbeat.
type Mode int

// The modes.
const (
	Alive    Mode = iota // this process is live; it takes its name from a process that is silent
	KeepName             // it is live; it takes its name only after a long silence
	NoName               // it is live, and takes no name, even if the name seems free
	Leave                // it leaves
	ReadOnly             // it only reads, and sends no heartbeat
	ReadAll              // like ReadOnly, and reads dead nodes too
)

// Found is the state of this process that a heartbeat found.
type Found int

// The states.
const (
	stood Found = iota
	Moved       // it was missing before, or has left now
	Other       // another live process has had its name longer
)

// Nodes is the reply to a heartbeat.
type Nodes struct {
	Peers []Peer      // in no order; with ReadAll, dead nodes too
	Now   task.Millis // the registry's clock
	Found Found
}

// Verb is a request about leases.
type Verb string

// The verbs.
const (
	hold     Verb = "hold" // acquire a shard without an owner, or renew its own lease
	giveBack Verb = "release"
	lookAt   Verb = "look" // change nothing
)

// LeaseReply is the reply about the lease of one shard.
type LeaseReply struct {
	Owner string        // its id: process and epoch; empty means none
	Left  time.Duration // the rest of its lease
	Err   error
}

// Lease is the ownership of a shard.
type Lease struct {
	ID    string // of the owner: process and epoch; empty means no owner
	Until task.Millis
	Epoch uint64
}

// Process returns the process of the owner, empty if there is none.
func (l *Lease) Process() string { return l.ID[:max(strings.LastIndexByte(l.ID, '/'), 0)] }
