// Package postgres keeps tasks in PostgreSQL, for many nodes.
package postgres

import (
	"context"
	"os"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/pgcheck"
	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/internal/wire"
)

const (
	// reapEvery is the interval at which lost leases are removed: see package
	// redis, which has the same promise.
	reapEvery = 500 * time.Millisecond
	// gather is dispatch.Config.Gather: each claim is a transaction.
	gather = 2 * time.Millisecond
	// examineTime is the time limit of an examination of the server.
	examineTime = 5 * time.Second
)

// Medium is a schema of PostgreSQL that several processes share. Open sets the version
// in Config, and the fields that engine.StoreConfig has too.
type Medium struct{ Config pgstore.Config }

// Embedded returns the medium of a program that embeds Foliot, with an address that
// shows operators where the program runs.
func Embedded() (m Medium) {
	host, _ := os.Hostname() // "" if it is unknown
	m.Config.Address, m.Config.Embedded = host+":"+strconv.Itoa(os.Getpid()), true
	return m
}

// Open opens the store, and Opened.Clock reads the clock of the server.
func (m Medium) Open(ctx context.Context, c engine.StoreConfig) (*engine.Opened, error) {
	m.Config.Version = buildinfo.Version()
	m.Config.Policy, m.Config.AuditKeep, m.Config.Logger, m.Config.OnReap = c.Keep, c.AuditKeep, c.Logger, c.OnReap
	s, err := pgstore.Open(ctx, m.Config)
	if err != nil {
		return nil, err
	}
	opened := &engine.Opened{
		Store: s, Clock: s.Now, Latest: s.Latest, Trusted: s.Trusted, ReapEvery: reapEvery, Gather: gather, Release: s.Release,
	}
	if m.Config.URL != "" {
		opened.Inspect = func(ctx context.Context) []wire.Finding { return inspect(ctx, m.Config) }
	}
	if m.Config.Embedded {
		opened.Join = s.Join
	}
	return opened, nil
}

// inspect returns the problems of the server of the store.
func inspect(ctx context.Context, c pgstore.Config) []wire.Finding {
	ctx, stop := context.WithTimeout(ctx, examineTime)
	defer stop()
	list, err := pgcheck.Examine(ctx, c, "the clock of foliot serve")
	if err != nil {
		list = append(list, wire.Finding{Check: "server", Says: err.Error()})
	}
	return list
}
