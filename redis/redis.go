// Package redis keeps the tasks of package foliot in a Redis or Valkey that
// several processes share. docs/redis.md lists the settings that the Redis
// needs, and explains which tasks a failover can lose.
//
//	store, err := redis.Parse("redis://localhost:6379?prefix=shop")
//	...
//	node, err := foliot.Open(ctx, store, mux, foliot.Options{})
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
package redis

import (
	"context"
	"errors"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/engine/redis"
	"github.com/foliot/foliot/internal/server/redisurl"
)

// Level is the durability that each change should reach; docs/redis.md says what
// each level survives. foliot.Info names the level that a change has reached.
type Level string

// The levels. If a change has not reached Strict, its error is a
// foliot.ErrUnavailable. So a program that must not lose a task in a failover
// uses Strict.
const (
	Async   Level = "async"
	Default Level = "default"
	Strict  Level = "strict"
)

// Options configures a store of Use.
type Options struct {
	// Prefix is the first word of all keys, at most 32 letters, digits and . _ -
	// characters. All processes with the same servers and prefix share the tasks.
	// Default: "foliot".
	Prefix string
	// Durability is the level of each change. Default: Default.
	Durability Level
}

// Parse returns the store at a URL: redis://host:6379/0, rediss:// with TLS, or
// one of the forms for Sentinel and Cluster that docs/redis.md lists. The
// parameters prefix and durability are those of Options. An error does not quote
// the URL, which may contain a password. Parse does not call the Redis, but reads
// the files of the URL.
func Parse(url string) (foliot.Store, error) {
	u, err := redisurl.Parse(url)
	if err != nil {
		return foliot.Store{}, err
	}
	m := medium{Medium: redis.Embedded(), explain: func(err error) error { return u.Explain("open", err) }}
	if err := u.Configure(&m.Config); err != nil {
		return foliot.Store{}, err
	}
	return engine.NewStore(m).(foliot.Store), nil
}

// Use returns a store with the client settings of the program, for settings that
// a URL does not have, such as a dialer or a function for credentials. The store
// opens connections of its own with them, of several kinds, and closes them at
// foliot.Node.Close, so it takes no open client. It turns client-side caching
// off. foliot.Open returns an error if client or o is not valid.
func Use(client rueidis.ClientOption, o Options) foliot.Store {
	m := medium{Medium: redis.Embedded(), explain: func(err error) error { return err }}
	m.Config.Client, m.Config.Prefix = client, o.Prefix
	m.Config.Client.DisableCache = true
	m.SetDurability(string(o.Durability))
	if len(client.InitAddress) == 0 {
		m.wrong = errors.New("the client settings have no InitAddress: name at least one server")
	}
	if o.Prefix != "" {
		m.wrong = errors.Join(m.wrong, redisurl.CheckPrefix(o.Prefix))
	}
	return engine.NewStore(m).(foliot.Store)
}

// medium is a Redis with the mistakes of its options.
type medium struct {
	redis.Medium
	wrong   error
	explain func(error) error // adds advice to an error of Open
}

func (m medium) Open(ctx context.Context, c engine.StoreConfig) (*engine.Opened, error) {
	if m.wrong != nil {
		return nil, m.wrong
	}
	opened, err := m.Medium.Open(ctx, c)
	if err != nil {
		return nil, m.explain(err)
	}
	return opened, nil
}
