// Package redis keeps the tasks of package foliot in a Redis or Valkey that
// several processes share. docs/redis.md lists the settings that the Redis
// needs, and explains which tasks a failover can lose.
package redis

import (
	"context"
	"os"
	"strconv"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/engine/redis"
	"github.com/foliot/foliot/internal/server/redisurl"
)

// Store returns the store at a URL: redis://host:6379/0, rediss:// with TLS, or
// one of the forms for Sentinel and Cluster that docs/redis.md lists. All
// processes with the same URL share the tasks. If the URL ends with
// ?prefix=shop, all keys begin with "shop:" instead of "foliot:". So several
// programs can use one Redis, or one Cluster, without sharing tasks.
// foliot.Open returns an error if the URL is invalid.
//
// The parameter durability is the level that each change should reach: async,
// default or strict, as in docs/redis.md. Default: default. foliot.Info names
// the level that a change has reached. At the level strict, the error of a
// change that has not reached it is a foliot.ErrUnavailable. So a program that
// must not lose a task in a failover uses ?durability=strict.
//
// Each process that runs owns a part of the tasks, and runs only those. So all
// processes must handle all kinds. If the owner of a task has no handler for
// its kind, the task waits. The log of the owner reports it, and operators see
// the task with the reason runner. A process owns nothing before
// foliot.Node.Run.
//
// The command `foliot serve` only sends requests, so it must not use the same
// database with the same prefix. For the API and the page, use package
// foliot/admin instead.
func Store(url string) foliot.Store { return store{url} }

type store struct{ url string }

// Open implements foliot.Store.
func (s store) Open(ctx context.Context, c engine.StoreConfig) (*engine.Opened, error) {
	u, err := redisurl.Parse(s.url)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	var m redis.Medium
	m.Config.Address, m.Config.Embedded = host+":"+strconv.Itoa(os.Getpid()), true // the address shows operators where the program runs
	if err := u.Configure(&m.Config); err != nil {
		return nil, err
	}
	opened, err := m.Open(ctx, c)
	if err != nil {
		return nil, u.Explain("open", err)
	}
	return opened, nil
}
