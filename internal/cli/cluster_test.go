package cli

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// sharing is the reference store, shared by several nodes.
type sharing struct {
	*memstore.Store
	nodes  []store.Node
	behind []string // these nodes apply no edit
}

func (s *sharing) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	replies, err := s.Store.Configure(ctx, now, edits)
	for i := range replies {
		replies[i].Unconfirmed = s.behind
	}
	return replies, err
}

func (s *sharing) Nodes(context.Context) ([]store.Node, error) { return s.nodes, nil }

func (s *sharing) Shards(context.Context) ([]store.Shard, error) {
	return []store.Shard{
		{Number: 0, Owner: "b", Until: 2_000_000_000_000, Epoch: 3, NextDue: 1_999_999_999_000, Running: 2},
		{Number: 1, Owner: "a", Until: 2_000_000_001_000, Epoch: 1},
		{Number: 2, Epoch: 4},
		{Number: 3, Owner: "b", Until: 2_000_000_002_000, Epoch: 1, NextDue: 1_999_999_998_000, Running: 1},
	}, nil
}

func (s *sharing) Standing() store.Standing {
	st := s.Store.Standing()
	st.Shards, st.Nodes = 4, 2
	return st
}

func (s *sharing) Drain(_ context.Context, _ task.Millis, d store.Drain) error {
	for i := range s.nodes {
		if n := &s.nodes[i]; n.Name == d.Node && n.Live {
			if n.Self && !d.Undo && !d.Force {
				return store.ErrLastNode
			}
			n.Draining, n.Wanted = !d.Undo, 2
			if n.Draining {
				n.Wanted = 0
			}
			return nil
		}
	}
	return &settings.MissingError{What: "node", Name: d.Node}
}

// newShared serves a store with nodes, of which those that behind names apply no
// edit.
func newShared(t *testing.T, behind ...string) *session {
	began := task.Millis(1_900_000_000_000)
	store := &sharing{Store: memstore.New(memstore.Config{}), nodes: []store.Node{
		{Name: "a", Self: true, Version: "1.2.3", Address: "127.0.0.1:8750", StartedAt: began, BeatAt: began.Add(time.Minute), Live: true, Owned: 1, Wanted: 2},
		{Name: "b", Version: "1.2.3", StartedAt: began, BeatAt: began.Add(time.Minute), Live: true, Owned: 2, Wanted: 2},
		{Name: "c", Version: "1.2.2", StartedAt: began, BeatAt: began.Add(time.Second)},
	}, behind: behind}
	live := func() wire.Live { return wire.Live{At: wire.FormatTime(time.Now())} }
	srv := httptest.NewServer(api.New(api.Config{Log: slog.New(slog.DiscardHandler), Engine: servertest.Engine{OnLive: live}}, store))
	t.Cleanup(func() {
		srv.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &session{t: t, server: srv.URL, dir: t.TempDir()}
}

func TestCommandsNameTheNodesThatHaveNotAppliedAChange(t *testing.T) {
	s := newShared(t, "b", "c")
	for _, line := range []string{
		"queue pause mail", "queue pause mail -o json", "queue resume mail", "queue set mail --rate 5", "queue rm mail",
		"namespace set acme --suspended", "namespace rm acme",
	} {
		out, err, code := s.run("", strings.Fields(line)...)
		if want := "foliot: the change is made, but after two seconds these nodes had not applied it: b, c\n"; out == "" || code != exit.Unconfirmed || !strings.Contains(line, "json") && err != want {
			t.Errorf("%s: %s%s[%d], want %s[%d]", line, out, err, code, want, exit.Unconfirmed)
		}
	}
}

func TestClusterCommandsPrintNodesAndShards(t *testing.T) {
	s := newShared(t)
	for _, c := range []struct {
		line, out, err string
		code           int
	}{
		{"cluster nodes", "a\tready\t1\t2\t1.2.3\t1m\t2030-03-17T17:47:40.000Z\t127.0.0.1:8750\n" +
			"b\tready\t2\t2\t1.2.3\t1m\t2030-03-17T17:47:40.000Z\t-\n" +
			"c\tno heartbeat\t0\t0\t1.2.2\t1s\t2030-03-17T17:46:41.000Z\t-\n", "", 0},
		{"cluster shards", "0\tb\t2\t2033-05-18T03:33:19.000Z\t2033-05-18T03:33:20.000Z\t3\n" +
			"1\ta\t0\t-\t2033-05-18T03:33:21.000Z\t1\n" +
			"2\t-\t0\t-\t-\t4\n" +
			"3\tb\t1\t2033-05-18T03:33:18.000Z\t2033-05-18T03:33:22.000Z\t1\n", "", 0},
		{"cluster drain b", "b is drained: its 2 shards go to the others\n", "", 0},
		{"cluster drain b --undo", "b is not drained any more; it will own 2 shards\n", "", 0},
		{"cluster drain a", "", "foliot: drain node a: no other live node may own shards, so no tasks would be delivered: start or undrain another node first, or pass --force\n", exit.Conflict},
		{"cluster drain a --force", "a is drained; if no other server takes its shards, nothing is delivered until `foliot cluster drain a --undo`, or until another server starts\n", "", 0},
		{"cluster drain b --force", "b is drained; if no other server takes its shards, nothing is delivered until `foliot cluster drain b --undo`, or until another server starts\n", "", 0},
		{"cluster drain b --undo", "b is not drained any more; it will own 2 shards\n", "", 0},
		{"cluster drain c", "", "foliot: drain node c: there is no node \"c\": `foliot cluster nodes` lists the existing ones\n", exit.NotFound},
		{"cluster drain a --undo --force", "", "foliot: --undo, --force: pass only one of them\n", exit.Usage},
	} {
		out, err, code := s.run("", strings.Fields(c.line)...)
		if out != c.out || err != c.err || code != c.code {
			t.Errorf("%s:\n%s%s[%d], want\n%s%s[%d]", c.line, out, err, code, c.out, c.err, c.code)
		}
	}
	if out, _, _ := s.run("", "-o", "json", "cluster", "nodes"); !strings.Contains(out, `"name":"b"`) || strings.Count(out, "\n") != 3 {
		t.Error(out)
	}
}

func TestAServerWithAStoreOfItsOwnIsListedAlone(t *testing.T) {
	s := newSession(t)
	if out, _, _ := s.run("", "cluster", "nodes"); !strings.HasPrefix(out, "-\tready\t-\t-\tdev\t") {
		t.Errorf("%q", out)
	}
	for _, line := range []string{"cluster shards", "cluster drain a"} {
		if _, err, code := s.run("", strings.Fields(line)...); code == 0 || !strings.Contains(err, "is embedded") {
			t.Errorf("%s: %q, %d", line, err, code)
		}
	}
}
