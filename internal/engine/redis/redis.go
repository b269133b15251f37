// Package redis keeps tasks in a Redis or Valkey, for many nodes.
package redis

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/redischeck"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/wire"
)

const (
	// reapEvery is the interval at which lost leases are removed. The attempts
	// of a dead node must be repeated at most one second after the end of their
	// leases, so this interval uses half of the second, and leaves the other
	// half for all other delays. With an interval of one second, 7 of 2,444
	// tasks started only a few milliseconds before the limit, or after it. Each
	// run costs a master one script with one ZRANGE per shard.
	reapEvery = 500 * time.Millisecond
	// gather is dispatch.Config.Gather. At a thousand tasks a second it adds
	// 1.2 ms to the median lateness, and fewer calls reach Redis.
	gather = 2 * time.Millisecond
	// examineTime is the time limit of an examination of the servers.
	examineTime = 5 * time.Second
)

// Medium is a Redis or Valkey that several processes share. Open sets the
// version in Config, and the fields that engine.StoreConfig has too.
type Medium struct{ Config redisstore.Config }

// Embedded returns the medium of a program that embeds Foliot, with an address
// that shows operators where the program runs.
func Embedded() (m Medium) {
	host, _ := os.Hostname() // "" if it is unknown
	m.Config.Address, m.Config.Embedded = host+":"+strconv.Itoa(os.Getpid()), true
	return m
}

// SetDurability sets the level of the store, where "" means the default, and Open
// checks it.
func (m *Medium) SetDurability(level string) { m.Config.Durability = redisstore.Durability(level) }

// Open opens the store, and Opened.Clock reads the clock of the servers.
func (m Medium) Open(ctx context.Context, c engine.StoreConfig) (*engine.Opened, error) {
	m.Config.Version = buildinfo.Version()
	m.Config.Policy, m.Config.AuditKeep, m.Config.Logger, m.Config.OnReap = c.Keep, c.AuditKeep, c.Logger, c.OnReap
	s, err := redisstore.Open(ctx, m.Config)
	if err != nil {
		return nil, err
	}
	opened := &engine.Opened{
		Store: s, Clock: s.Now, Latest: s.Latest, Trusted: s.Trusted, ReapEvery: reapEvery, Gather: gather,
		Inspect: func(ctx context.Context) []wire.Finding { return examine(ctx, s, m.Config) },
		Release: s.Release,
	}
	if m.Config.Embedded {
		opened.Join = s.Join
	}
	return opened, nil
}

// examine returns the problems of the servers of the store. If it cannot read
// the format of the store, that is a finding too.
func examine(ctx context.Context, s *redisstore.Store, c redisstore.Config) []wire.Finding {
	ctx, stop := context.WithTimeout(ctx, examineTime)
	defer stop()
	x, err := s.Examine(ctx)
	list := redischeck.Judge(x, c, "the server's clock")
	if err != nil {
		list = append(list, wire.Finding{Check: "format", Says: fmt.Sprintf("cannot read the format of the store: %v", err)})
	}
	return list
}
