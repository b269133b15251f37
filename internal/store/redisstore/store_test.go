package redisstore

import (
	"context"
	"flag"
	"testing"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil { // they mostly wait for leases
		panic(err)
	}
	// rueidis closes connections to servers that left a cluster, or whose slots
	// moved, five seconds later. It reads the slots of a cluster at most once a
	// second.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}

// openAt opens a store in the servers at addrs. The tests set its time.
func openAt(t *testing.T, addrs ...string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{
		Client: rueidis.ClientOption{InitAddress: addrs, DisableCache: true},
		Shards: 8,
		Shared: store.Shared{Policy: storetest.Policy, AuditKeep: storetest.AuditKeep, CallersClock: true},
	})
	fatal.If(t, err)
	return s
}

// empty removes all keys from servers.
func empty(t *testing.T, addrs ...string) {
	t.Helper()
	for _, addr := range addrs {
		if reply, err := redistest.Command(context.WithoutCancel(t.Context()), addr, "FLUSHALL"); reply != "+OK" {
			t.Fatalf("empty the Redis at %s: %s, %v", addr, reply, err)
		}
	}
}

// emptied returns a function that opens an empty store in the servers at addrs.
func emptied(addrs ...string) func(*testing.T) store.Store {
	return func(t *testing.T) store.Store {
		empty(t, addrs...)
		return openAt(t, addrs...)
	}
}

func TestKeepsTheContractOfStores(t *testing.T) {
	t.Parallel()
	storetest.Run(t, emptied(redistest.New(t).Addr))
}

func TestKeepsTheContractOfStoresInACluster(t *testing.T) {
	t.Parallel()
	storetest.Run(t, emptied(redistest.NewCluster(t, 3, 0).Addrs()...))
}

func TestStoreEqualsTheReference(t *testing.T) {
	t.Parallel()
	scripts := 0
	if testing.Short() {
		scripts = quick.Of(5, 2)
	}
	differential(t, scripts, redistest.New(t).Addr)
}

func TestStoreInAClusterEqualsTheReference(t *testing.T) {
	t.Parallel()
	differential(t, 3, redistest.NewCluster(t, 3, 0).Addrs()...)
}

// differential compares the store in the servers at addrs with the reference.
func differential(t *testing.T, scripts int, addrs ...string) {
	t.Helper()
	storetest.Differential(t, storetest.Subject{
		Open: emptied(addrs...), OrderOfRecords: true, Scripts: scripts,
		Reference: func(now task.Millis, c storetest.Contents) store.Store {
			return storetest.Refill(memstore.New(memstore.Config{Policy: storetest.Policy, AuditKeep: storetest.AuditKeep}), now, c)
		},
	})
}

// long skips a test of broken servers and connections in short runs. Such a
// test takes seconds, and its load on the machine delays other tests. `make
// redis-long` runs it.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a test of broken servers: make redis-long")
	}
}
