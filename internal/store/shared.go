package store

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// Shared configures a store that several nodes share, whatever its medium is.
type Shared struct {
	// Policy says how long records are kept after their end, where zero fields have
	// the defaults of task.Policy.
	Policy task.Policy

	// AuditKeep is how long entries of the audit log are kept. Default: 30 days.
	AuditKeep time.Duration

	// Node is the name of this process among those that share the store. A process
	// that restarts with the same name gets the same shards. It must not contain a
	// slash. Default: a generated name.
	Node string

	// Version is the version of the program, and Address the host:port of its API,
	// which every node lists for all nodes: see Cluster. Default: empty.
	Version, Address string

	// APIs returns further addresses of the API, host:port, to which no node sends
	// tasks. It is called for each heartbeat and must not block. Default: none.
	APIs func() []string

	// Embedded is set for a program that embeds the timers. It becomes a node, which
	// owns shards, only when it joins the nodes.
	Embedded bool

	// CallersClock makes the times that callers pass the only clock, for tests with
	// an artificial time and without other nodes. Otherwise the servers' clocks
	// decide.
	CallersClock bool

	// OnReap is called with the tasks whose leases Reap took back, and with those of
	// SQL functions that were refused, in their new
	// state: some may be dead. It must not call the store. Default: none.
	OnReap func(left []*task.Task)

	// Logger receives the log. Default: none.
	Logger *slog.Logger
}

// WithDefaults returns c with the defaults of its zero fields.
func (c Shared) WithDefaults() Shared {
	c.Policy = c.Policy.WithDefaults()
	c.AuditKeep = cmp.Or(c.AuditKeep, DefaultAuditKeep)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Check returns an error if c cannot work.
func (c Shared) Check() error {
	if strings.Contains(c.Node, "/") {
		return fmt.Errorf("node name %q: must not contain a slash", c.Node)
	}
	return nil
}
