package redisstore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// loseEnd removes the last bytes of the append-only file of a killed server.
func loseEnd(t *testing.T, dir string, bytes int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	about, err := os.Stat(files[0])
	if err == nil {
		err = os.Truncate(files[0], about.Size()-bytes)
	}
	fatal.If(t, err)
}

const olderData = "the store has older data than before"

// lostChanges returns the number of changes that the log calls lost. It has a line
// for each comparison that finds some.
func lostChanges(k *known) (sum int) {
	for _, m := range regexp.MustCompile(`lost_changes_of_this_node=(\d+)`).FindAllStringSubmatch(k.log.String(), -1) {
		n, _ := strconv.Atoi(m[1])
		sum += n
	}
	return sum
}

// The loss is shorter than the time between some heartbeats, and the node goes
// on with more changes than were lost before it compares anything.
func TestARedisThatLostTheEndOfItsFileIsNoticedWithTheNumberOfChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := redistest.New(t, "--dir", dir, "--appendfsync", "always") // with everysec, a disk that is busy can delay writes, so a kill would lose some
	a := fitNode(t, Config{Shared: store.Shared{Node: "a"}}, r.Addr)
	b := &known{log: &lockedBuffer{}}
	b.Store = openNodeWith(t, Config{Shared: store.Shared{Node: "b", Logger: slog.New(slog.NewTextHandler(b.log, nil))}}, r.Addr)
	create := func(prefix string, n int) {
		for i := range n {
			fatal.If(t, apply(t, a.Store, unmarked(fmt.Sprint(prefix, i))))
		}
	}
	create("a", 60)
	replaced := a.servers.Replaced.Load()
	r.Kill()
	fatal.If(t, r.Restart())
	create("b", 60)
	eventually(t, "it knows the new process", func() bool { return a.servers.Replaced.Load() > replaced })
	if n := a.Standing().Rollbacks + b.Standing().Rollbacks; n != 0 {
		t.Fatalf("%d false alarms:\n%s", n, a.log.String())
	}
	r.Kill()
	loseEnd(t, dir, 20<<10)
	fatal.If(t, r.Restart())
	create("c", 60)
	lost := 0
	for i := range 60 {
		_, err := a.Get(t.Context(), unmarked(fmt.Sprint("b", i)).Target())
		switch {
		case errors.Is(err, task.ErrNotFound):
			lost++
		case err != nil:
			t.Fatal(err)
		}
	}
	if lost == 0 || lost == 60 {
		t.Fatalf("the file has lost %d of 60 tasks", lost)
	}
	defer func() {
		if t.Failed() {
			t.Logf("%d tasks are lost, and the log says %d:\n%s", lost, lostChanges(a), a.log.String())
		}
	}()
	eventually(t, "it has noticed all", func() bool { return lostChanges(a) >= lost })
	if n := a.Standing().Rollbacks; n != uint64(a.log.count(olderData)) {
		t.Errorf("%d losses are counted", n)
	}
	if lostChanges(a) != lost {
		t.Error("it has noticed more")
	}
	if b.log.count(olderData) != 0 { // it has lost nothing of its own
		t.Errorf("the log of another node:\n%s", b.log.String())
	}
}

// A revoked token is valid again if the end of the file is lost.
func TestALossOfSettingsIsNoticed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := redistest.New(t, "--dir", dir, "--appendfsync", "always")
	a := fitNode(t, Config{Shared: store.Shared{Node: "a"}}, r.Addr)
	for _, paused := range []bool{true, false, true} {
		e := settings.PauseQueue{Namespace: task.DefaultNamespace, Name: strings.Repeat("q", 60), Paused: paused}
		if _, err := a.edit(t.Context(), 1, e); err != nil { // nothing is written after it
			t.Fatal(err)
		}
	}
	r.Kill()
	loseEnd(t, dir, 600)
	fatal.If(t, r.Restart())
	eventually(t, "it has noticed", func() bool { return a.log.count(olderData) == 1 })
}

// An older copy has the same identity and the same settings. Only the count of
// heartbeats shows its age.
func TestEveryNodeNoticesThatItsRedisWasRestoredFromAnOlderCopy(t *testing.T) {
	t.Parallel()
	r := redistest.New(t, "--appendonly", "no")
	a, b := fitNode(t, Config{Unsafe: true, Shared: store.Shared{Node: "a"}}, r.Addr), &known{log: &lockedBuffer{}}
	b.Store = openNodeWith(t, Config{Unsafe: true, Shared: store.Shared{Node: "b", Logger: slog.New(slog.NewTextHandler(b.log, nil))}}, r.Addr)
	redis(t, r, "SAVE")
	const failover = 10 // heartbeats of each node that one failover may lose
	redis(t, r, "HINCRBY", storeKeys.NodesID, "beats", strconv.Itoa(3*2*failover))
	fatal.If(t, apply(t, a.Store, order("a")))
	for _, s := range []*Store{a.Store, b.Store} {
		for range 3 { // of two comparisons that wait, the first one has ended when the second one begins
			s.identity.Doubt <- struct{}{}
		}
	}
	r.Kill()
	if err := r.Restart(); err != nil { // it reads the copy
		t.Fatal(err)
	}
	for name, n := range map[string]*known{"a": a, "b": b} {
		eventually(t, name+" has noticed", func() bool {
			return n.Standing().Rollbacks == 1 && n.log.count("the store has older data than before") == 1 // the count comes before the line
		})
		if n.identity.Lost() != nil {
			t.Errorf("%s: %v; its log:\n%s", name, n.identity.Lost(), n.log.b.String())
		}
	}
	if _, err := a.Get(t.Context(), order("a").Target()); !errors.Is(err, task.ErrNotFound) {
		t.Error("it was no older copy:", err)
	}
}
