package redisstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

func TestANodeIsReadyOnlyWhileItsRedisTakesWrites(t *testing.T) {
	quick.Leave(t, "waits for checks of Redis")
	t.Parallel()
	dir := t.TempDir()
	fatal.If(t, os.Mkdir(filepath.Join(dir, "taken"), 0o700))
	misconf := redistest.New(t, "--dir", dir, "--dbfilename", "taken", "--save", "3600 1000")
	p := newPair(t)
	alone := redistest.New(t)
	for name, c := range map[string]struct {
		r            *redistest.Server
		refuse, undo func()
		says         string
	}{
		"NOREPLICAS": {alone, func() { redis(t, alone, "CONFIG", "SET", "min-replicas-to-write", "1") }, func() { redis(t, alone, "CONFIG", "SET", "min-replicas-to-write", "0") }, "check that the replicas run"},
		"MISCONF":    {misconf, func() { redis(t, misconf, "BGSAVE") }, func() { redis(t, misconf, "CONFIG", "SET", "stop-writes-on-bgsave-error", "no") }, "vm.overcommit_memory"},
		"READONLY": {p.master, func() {
			redis(t, p.replica, "REPLICAOF", "NO", "ONE")
			host, port, _ := strings.Cut(p.replica.Addr, ":")
			redis(t, p.master, "REPLICAOF", host, port)
		}, func() { redis(t, p.master, "REPLICAOF", "NO", "ONE") }, "name the master"},
	} {
		t.Run(name, func(t *testing.T) {
			k := fitNode(t, Config{Node: "k"}, c.r.Addr)
			c.refuse()
			eventually(t, "it is not ready", func() bool {
				return errors.Is(k.Standing().Err, task.ErrUnavailable) && strings.Contains(k.Standing().Err.Error(), name)
			})
			if err := apply(t, k.Store, order("new")); !errors.Is(err, task.ErrUnavailable) {
				t.Errorf("create: %v", err)
			}
			x, err := Examine(t.Context(), Config{Client: rueidis.ClientOption{InitAddress: []string{c.r.Addr}, DisableCache: true, ForceSingleClient: true}})
			if err != nil || x.Masters[0].Refused == nil || !strings.Contains(x.Masters[0].Refused.Error(), c.says) {
				t.Errorf("%+v, %v", x, err)
			}
			if name == "READONLY" {
				other := openNodeWith(t, Config{Node: "other"}, p.replica.Addr)
				eventually(t, "it does not count as live", func() bool {
					return errors.Is(other.Drain(t.Context(), task.CeilMillis(time.Now()), store.Drain{Node: "other"}), store.ErrLastNode)
				})
				_ = other.Close()
			}
			c.undo()
			eventually(t, "it is ready again", func() bool { return k.Standing().Err == nil })
			if err := apply(t, k.Store, order("new")); err != nil {
				t.Errorf("create: %v", err)
			}
		})
	}
}
