package store

import (
	"time"

	"github.com/foliot/foliot/internal/settings"
)

// Standing is a process's view of a store.
type Standing struct {
	// Durability is the level that a nil error of a mutation means: "memory",
	// "synced",.... A Reply reports if a change reached a lower level.
	Durability string

	// Err is nil while the store works, and otherwise the reason why it does not:
	// ErrUnavailable if the failure may end by itself, ErrStoreUnfit if the store
	// accepts no new tasks until its servers are configured as before,
	// ErrStoreReplaced or ErrSettingsLost if it was emptied or replaced. With any
	// other error the store has stopped for good.
	Err error

	// Settings are all settings that are durable now; in a shared store they are
	// at most a second old. Never nil.
	Settings *settings.Settings

	Shared bool // other processes can use the store

	Membership

	Postgres *Postgres // nil for other stores
}

// Postgres is a node's view of its PostgreSQL.
type Postgres struct {
	NotListening bool // the node gets no messages of other nodes, although no pooler is in between

	// OldestSnapshot is the age of the oldest transaction with a snapshot, among those
	// that the user may see. It is at most a few minutes old.
	OldestSnapshot time.Duration
}

// Membership is a node's view of its part in a cluster.
type Membership struct {
	Node      string // the name of this node
	Shards    int    // the number of shards
	Owned     int    // owned by this node
	Nodes     int    // live ones, as of the last heartbeat
	Lost      uint64 // its own leases that ended before they could be renewed
	NameTaken bool   // another live process had its name before: it must own no shards until that process ends
	Rollbacks uint64 // times that the store has older data than before: it lost the end of its file, was restored from an older copy, or failed over to a replica that was behind
}
