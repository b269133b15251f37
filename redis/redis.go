// Package redis keeps the tasks of package foliot in a Redis or Valkey, which
// several processes share. docs/redis.md lists the settings that the servers
// need, and the losses that a failover can cause.
package redis

import (
	"context"
	"os"
	"strconv"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/medium"
	"github.com/foliot/foliot/internal/medium/redis"
	"github.com/foliot/foliot/internal/server/redisurl"
)

// Store returns the store at a URL: redis://host:6379/0, rediss:// with TLS, or
// one of the forms for Sentinel and Cluster that docs/redis.md has. All
// processes that use the URL share the tasks. If a URL ends with ?prefix=shop, all
// its keys begin with shop: instead of foliot:, so several programs can use one
// Redis, or one Cluster, without sharing tasks.
//
// Each process that runs owns a part of the tasks, and runs only those. So all
// processes must handle all kinds. Tasks without a handler in the process that
// owns them wait, the log of that process says so, and they are shown with the
// reason runner. A process owns nothing before foliot.Node.Run. A `foliot serve`
// sends only requests, so it must not use the same database of the Redis with the same prefix:
// package foliot/admin serves its API and page.
func Store(url string) foliot.Store { return store{url} }

type store struct{ url string }

// Open implements foliot.Store.
func (s store) Open(ctx context.Context, c medium.Config) (*medium.Opened, error) {
	u, err := redisurl.Parse(s.url)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	m := redis.Embedded(host + ":" + strconv.Itoa(os.Getpid()))
	if err := u.Configure(&m.Config); err != nil {
		return nil, err
	}
	opened, err := m.Open(ctx, c)
	if err != nil {
		return nil, u.Explain("open", err)
	}
	return opened, nil
}
