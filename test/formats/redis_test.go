package formats

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/store/redisstore/identity"
)

// loaded returns a Redis that has loaded a dump.
func loaded(t *testing.T, file string) *redistest.Server {
	t.Helper()
	redistest.Need(t)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dump.rdb"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	r := redistest.New(t, "--dir", dir, "--appendonly", "no") // with yes it would not read the dump
	if reply, err := redistest.Command(t.Context(), r.Addr, "CONFIG", "SET", "appendonly", "yes"); err != nil || reply != "+OK" {
		t.Fatal(reply, err)
	}
	return r
}

func openRedis(t *testing.T, r *redistest.Server) *redisstore.Store {
	t.Helper()
	s, err := redisstore.Open(t.Context(), redisstore.Config{
		Client: rueidis.ClientOption{InitAddress: []string{r.Addr}, DisableCache: true}, Node: "new",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestARedisOfEachFormatOpensWithAllItsRecords(t *testing.T) {
	each(t, "redis", ".rdb", func(t *testing.T, format, file string) {
		want := readList(t, "testdata/redis-"+format+".jsonl")
		r := loaded(t, file)
		s := openRedis(t, r)
		wantSame(t, s, want)
		if format == "1" { // counted only the bytes of bodies: the first scrub counts records
			for _, found := range scrub(t, s, time.Now()) {
				if !strings.Contains(found.Found, `/bytes" was `) {
					t.Errorf("repaired %+v", found)
				}
			}
		}
		wantWhole(t, s, time.Now())
		oldest, err := redistest.Command(t.Context(), r.Addr, "HGET", "foliot:meta", "oldest")
		if err != nil || oldest != format {
			t.Errorf("after the open, versions that read format %s are admitted (%v), want %s: servers are upgraded one by one", oldest, err, format)
		}
	})
}

func TestTheFormatOfThisVersionHasADumpOfRedis(t *testing.T) {
	wantFile(t, fmt.Sprintf("testdata/redis-%d.rdb", identity.Format))
}
