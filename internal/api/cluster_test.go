package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// shared is the reference store with nodes.
type shared struct {
	*memstore.Store
	nodes  []store.Node
	taken  bool // another node has its name
	silent bool // it could not send a heartbeat
	drains []store.Drain
	by     []string
	err    error // returned by drains

	behind []string // these nodes apply no edit
}

func (s *shared) Nodes(context.Context) ([]store.Node, error) { return s.nodes, nil }

func (s *shared) Shards(context.Context) ([]store.Shard, error) {
	return []store.Shard{{Owner: "a", Until: 2_000_000_000_000, Epoch: 3, NextDue: 1_999_999_999_000, Running: 2}, {Number: 1}}, nil
}

func (s *shared) Standing() store.Standing {
	st := s.Store.Standing()
	st.Membership = store.Membership{Shards: 2, Owned: 1, Nodes: 2, NameTaken: s.taken}
	if s.silent {
		st.Membership = store.Membership{Shards: 2}
	}
	return st
}

func (s *shared) Drain(ctx context.Context, _ task.Millis, d store.Drain) error {
	if s.err != nil {
		return s.err
	}
	s.drains, s.by = append(s.drains, d), append(s.by, settings.ActorOf(ctx).By)
	for i := range s.nodes {
		if s.nodes[i].Name == d.Node {
			s.nodes[i].Draining = !d.Undo
		}
	}
	return nil
}

func (s *shared) Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error) {
	replies, err := s.Store.Configure(ctx, now, edits)
	for i := range replies {
		replies[i].Unconfirmed = s.behind
	}
	return replies, err
}

func TestTheReplyToAnEditOfSettingsNamesTheNodesThatHaveNotAppliedIt(t *testing.T) {
	for _, behind := range [][]string{nil, {"b", "c"}} {
		s, shared := serveShared(t)
		var admin, other wire.Token
		var secret wire.Secret
		s.do("POST", "/v1/tokens", `{"namespace":"*","scope":"admin"}`).want(201, &admin)
		as := "Authorization: Bearer " + admin.Token
		s.do("POST", "/v1/tokens", `{"scope":"read"}`, as).want(201, &other)
		s.do("POST", "/v1/secrets", "", as).want(201, &secret)
		shared.behind = behind
		for _, edit := range []struct {
			method, path, body string
			status             int
		}{
			{"PUT", "/v1/queues/mail", `{"rate":5}`, 201},
			{"PUT", "/v1/queues/mail", `{"rate":4}`, 200},
			{"POST", "/v1/queues/mail/pause", "", 200},
			{"POST", "/v1/queues/mail/pause", "", 200}, // changes nothing, but waits again
			{"POST", "/v1/queues/mail/resume", "", 200},
			{"DELETE", "/v1/queues/mail", "", 200},
			{"PUT", "/v1/namespaces/acme", `{"suspended":true}`, 201},
			{"DELETE", "/v1/namespaces/acme", "", 200},
			{"DELETE", "/v1/tokens/" + other.ID, "", 200},
			{"DELETE", "/v1/secrets/" + secret.ID, "", 200},
		} {
			if behind != nil {
				edit.status = 202
			}
			var reply map[string]any
			s.do(edit.method, edit.path, edit.body, as).want(edit.status, &reply)
			names, _ := reply["unconfirmed"].([]any)
			if len(names) != len(behind) || behind != nil && names[0] != "b" {
				t.Errorf("%s %s: unconfirmed %q, want %q", edit.method, edit.path, names, behind)
			}
		}
	}
}

// serveShared serves a store of two nodes.
func serveShared(t *testing.T) (*service, *shared) {
	began := task.FloorMillis(time.Now())
	s := &shared{Store: memstore.New(memstore.Config{}), nodes: []store.Node{
		{Name: "a", Self: true, Version: "1.0", StartedAt: began, BeatAt: began.Add(time.Minute), Live: true, Owned: 1, Wanted: 2},
		{Name: "b", Address: "10.0.0.7:8080", StartedAt: began, BeatAt: began},
	}}
	return &service{T: t, Server: api.New(api.Config{Version: "test"}, s), store: s.Store}, s
}

func TestAServerWithAStoreOfItsOwnIsAClusterOfOne(t *testing.T) {
	s := serve(t)
	c := decoded[wire.Cluster](s.do("GET", "/v1/cluster", ""), 200)
	if c.Store != "embedded" || c.Shards != 0 || len(c.Nodes) != 1 || !c.Nodes[0].Self || c.Nodes[0].Owned != nil || c.Nodes[0].Name != "" {
		t.Errorf("%+v", c)
	}
	s.do("GET", "/v1/cluster/shards", "").problem(501, "unsupported", "")
	s.do("POST", "/v1/cluster/nodes/a/drain", "").problem(501, "unsupported", "")
	s.do("DELETE", "/v1/cluster/nodes/a/drain", "").problem(501, "unsupported", "")
}

func TestNodesAndShardsAreShown(t *testing.T) {
	s, _ := serveShared(t)
	c := decoded[wire.Cluster](s.do("GET", "/v1/cluster", ""), 200)
	if c.Store != "shared" || c.Shards != 2 || len(c.Nodes) != 2 {
		t.Fatalf("%+v", c)
	}
	a, b := c.Nodes[0], c.Nodes[1]
	if a.Name != "a" || !a.Self || !a.Ready || a.Uptime != "1m" || *a.Owned != 1 || *a.Wanted != 2 || a.LastSeenAt == "" {
		t.Errorf("%+v", a)
	}
	if b.Ready || b.Self || b.Version != "unknown" || b.Address != "10.0.0.7:8080" || *b.Owned != 0 {
		t.Errorf("%+v", b)
	}
	list := decoded[api.ShardList](s.do("GET", "/v1/cluster/shards", ""), 200)
	if want := (wire.Shard{Owner: "a", Until: "2033-05-18T03:33:20.000Z", Epoch: 3, NextDue: "2033-05-18T03:33:19.000Z", Running: 2}); len(list.Shards) != 2 || list.Shards[0] != want || list.Shards[1] != (wire.Shard{Shard: 1}) {
		t.Errorf("%+v", list)
	}
	s.Stop()
	if s.do("GET", "/v1/cluster", "").want(200, &c); c.Nodes[0].Ready {
		t.Error("it is stopping, and ready")
	}
}

func TestAServerWithATakenNameIsNotReady(t *testing.T) {
	s, shared := serveShared(t)
	s.do("GET", "/readyz", "").want(200, nil)
	shared.taken = true
	shared.nodes = []store.Node{{Name: "a", Live: true, Owned: 2, Wanted: 2}, {Name: "a", Self: true, Live: true, NameTaken: true}}
	if p := s.do("GET", "/readyz", "").problem(503, "unavailable", ""); !strings.Contains(p.Detail, "--node") {
		t.Error(p.Detail)
	}
	c := decoded[wire.Cluster](s.do("GET", "/v1/cluster", ""), 200)
	if a, b := c.Nodes[0], c.Nodes[1]; !a.Ready || a.NameTaken || b.Ready || !b.NameTaken || !b.Self {
		t.Errorf("%+v", c.Nodes)
	}
	s.do("GET", "/healthz", "").want(200, nil) // it lives, and to start it again would not help
	s.do("GET", "/v1/tasks", "").want(200, nil)
}

func TestAServerWithoutAHeartbeatIsNotReady(t *testing.T) {
	s, shared := serveShared(t)
	shared.silent = true
	if p := s.do("GET", "/readyz", "").problem(503, "unavailable", ""); !strings.Contains(p.Detail, "heartbeat") {
		t.Error(p.Detail)
	}
}

func TestDrainsAreTheOperatorsAndHaveAnAuthor(t *testing.T) {
	s, shared := serveShared(t)
	n := decoded[wire.Node](s.do("POST", "/v1/cluster/nodes/b/drain", ""), 200)
	if n.Name != "b" || !n.Draining || n.Ready {
		t.Errorf("%+v", n)
	}
	s.do("POST", "/v1/cluster/nodes/b/drain?force=true", "").want(200, nil)
	n = decoded[wire.Node](s.do("DELETE", "/v1/cluster/nodes/b/drain", ""), 200)
	if n.Draining {
		t.Errorf("%+v", n)
	}
	want := []store.Drain{{Node: "b"}, {Node: "b", Force: true}, {Node: "b", Undo: true}}
	for i, d := range shared.drains {
		if d != want[i] || shared.by[i] != "anonymous" {
			t.Errorf("%+v by %s, want %+v", d, shared.by[i], want[i])
		}
	}
	s.do("POST", "/v1/cluster/nodes/b/drain?force=perhaps", "").problem(400, "bad_parameter", "force")
	s.do("DELETE", "/v1/cluster/nodes/b/drain?force=true", "").problem(400, "unknown_parameter", "force")
	s.do("POST", "/v1/cluster/nodes/b/drain", "x").problem(400, "unexpected_body", "")
	shared.err = store.ErrLastNode
	s.do("POST", "/v1/cluster/nodes/b/drain", "").problem(409, "last_node", "")
	shared.err = &settings.MissingError{What: "node", Name: "c"}
	s.do("POST", "/v1/cluster/nodes/c/drain", "").problem(404, "not_found", "")
}
