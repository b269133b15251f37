package redis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// LostSettings: a store that was secured is emptied, or is lost in part, under three
// servers: one on loopback, one on all addresses with TLS, one behind a proxy. Strangers
// and the holder of a token ask all of them 100 times a second.
func LostSettings(ctx context.Context, t *harness.Run) error {
	for _, l := range storeLosses {
		if err := loseStore(ctx, t, l); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	return nil
}

// storeLoss is a way to lose a store. strike returns when its servers answer again.
type storeLoss struct {
	name, dir string
	open      func(dir string) (url string, strike func(context.Context) (emptied *redistest.Server, err error), end func(), err error)
}

var storeLosses = []storeLoss{
	{"DEL of the settings", "del", oneRedis(func(ctx context.Context, r *redistest.Server, _ string) (*redistest.Server, error) {
		return nil, sendCommand(ctx, r, "DEL", "foliot:{settings}:all")
	})},
	{"FLUSHALL", "flushall", oneRedis(func(ctx context.Context, r *redistest.Server, _ string) (*redistest.Server, error) {
		return r, sendCommand(ctx, r, "FLUSHALL")
	})},
	{"an empty restart", "restart", oneRedis(func(_ context.Context, r *redistest.Server, dir string) (*redistest.Server, error) {
		r.Kill()
		empty := filepath.Join(dir, "empty")
		if err := os.Mkdir(empty, 0o700); err != nil {
			return nil, err
		}
		return r, r.Restart("--dir", empty)
	})},
	{"an empty replica is promoted", "replica", sentinelRedis},
	{"one master of a Cluster comes back empty", "cluster", clusterRedis},
}

type opener = func(dir string) (string, func(context.Context) (*redistest.Server, error), func(), error)

func oneRedis(strike func(ctx context.Context, r *redistest.Server, dir string) (*redistest.Server, error)) opener {
	return func(dir string) (string, func(context.Context) (*redistest.Server, error), func(), error) {
		r, err := redistest.Start(dir)
		if err != nil {
			return "", nil, func() {}, err
		}
		return "redis://" + r.Addr, func(ctx context.Context) (*redistest.Server, error) { return strike(ctx, r, dir) }, r.Kill, nil
	}
}

// sentinelRedis empties the replicas of a master behind its back, and kills it.
func sentinelRedis(dir string) (string, func(context.Context) (*redistest.Server, error), func(), error) {
	s, err := redistest.StartSentinels(dir, false)
	if err != nil {
		return "", nil, s.Close, err
	}
	w := &sentinelGroup{Sentinels: s}
	return w.url(), func(ctx context.Context) (*redistest.Server, error) {
		if err := detachReplicas(ctx, s.Servers[0]); err != nil {
			return nil, err
		}
		for _, r := range s.Servers[1:] {
			if err := errors.Join(sendCommand(ctx, r, "CONFIG", "SET", "replica-read-only", "no"), sendCommand(ctx, r, "FLUSHALL")); err != nil {
				return nil, err
			}
		}
		s.Servers[0].Kill()
		ctx, stop := context.WithTimeout(ctx, strikeWithin)
		defer stop()
		if err := redistest.Poll(ctx, w.promoted); err != nil {
			return nil, err
		}
		return s.Servers[w.next], nil
	}, s.Close, nil
}

// clusterRedis starts one of three masters again without its file.
func clusterRedis(dir string) (string, func(context.Context) (*redistest.Server, error), func(), error) {
	c, err := redistest.StartCluster(dir, 3, 0)
	if err != nil {
		return "", nil, c.Close, err
	}
	return "redis+cluster://" + strings.Join(c.Addrs(), ","), func(ctx context.Context) (*redistest.Server, error) {
		c.Servers[1].Kill()
		if err := c.Servers[1].Restart("--appendonly", "no"); err != nil {
			return nil, err
		}
		return nil, c.Await(ctx)
	}, c.Close, nil
}

// loseStore lets one loss happen.
func loseStore(ctx context.Context, t *harness.Run, l storeLoss) error {
	dir := t.Path(l.dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	url, strike, end, err := l.open(dir)
	defer end()
	if err != nil {
		return err
	}
	st, err := t.OpenLogs(l.dir + "/logs")
	if err != nil {
		return err
	}
	defer st.Close()
	group, err := startKinds(ctx, st, url)
	defer func() {
		for _, n := range group {
			n.End()
		}
	}()
	if err != nil {
		return err
	}
	const closedFor = 5 * time.Second
	for _, n := range group {
		n.ask(ctx)
	}
	timing.Pause(ctx, time.Second)
	due := time.Now().Add(4 * time.Second) // by then the loss is noticed, or the Redis is away
	names := make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprintf("due-%d", i)
		if _, err := group[0].client.Create(ctx, harness.Task(names[i], st.Receiver.URL(), due)); err != nil {
			return err
		}
	}
	emptied, err := strike(ctx)
	if err != nil {
		return err
	}
	back := time.Now()
	timing.Pause(ctx, closedFor)
	t.Note("%s:", l.name)
	for _, n := range group {
		n.judge(t, back, emptied != nil)
	}
	sent := 0
	for _, name := range names {
		sent += st.Receiver.Arrivals(name)
	}
	t.Must(sent == 0, "of %d tasks that came due since then, sent %d", len(names), sent)
	if emptied != nil {
		size, err := redistest.Command(ctx, emptied.Addr, "DBSIZE")
		t.Must(err == nil && size == ":0", "keys that the servers wrote into the emptied Redis: %s", size)
	}
	return nil
}

// lossNode is a server and its clients.
type lossNode struct {
	*harness.Server
	kind     string
	client   *harness.Client // shows a token
	fields   map[string]string
	stopping []func()

	strangers, welcome []answer // of their goroutines until judge
	ready              []answer
}

// startKinds starts a server of each kind, with an operator's token. It returns those that
// were started also with an error.
func startKinds(ctx context.Context, st *harness.Environment, url string) (all []*lossNode, err error) {
	var token string
	for i, kind := range []string{"on loopback", "on 0.0.0.0 with TLS", "behind a proxy"} {
		dir := filepath.Join(st.Dir, fmt.Sprintf("n%d", i+1))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return all, err
		}
		s, err := harness.NewServer(st.Run.Options.Binary, dir, "--store", url, "--node", fmt.Sprintf("n%d", i+1), "--egress-allow", "127.0.0.0/8")
		if err != nil {
			return all, err
		}
		n := &lossNode{Server: s, kind: kind}
		all = append(all, n)
		switch i {
		case 1:
			_, port, _ := strings.Cut(s.Addr, ":")
			s.Listen = "0.0.0.0:" + port
			if _, err := s.Secure(); err != nil {
				return all, err
			}
		case 2:
			s.Flags = append(s.Flags, "--trusted-proxy", "127.0.0.0/8", "--host", "foliot.example")
			n.fields = map[string]string{"X-Forwarded-For": "198.51.100.7", "X-Forwarded-Proto": "https"}
		}
		if err := s.Run(ctx); err != nil {
			return all, err
		}
		n.client = harness.NewClient(s.URL())
		if s.Roots != nil {
			n.client.Trust(s.Roots)
		}
		if i == 0 {
			made, err := n.client.MakeToken(ctx, wire.TokenInput{Scope: "admin", Namespace: wire.AllNamespaces, Label: "operator"})
			if err != nil {
				return all, err
			}
			token = made.Token
		}
		n.client = n.client.WithToken(token)
	}
	return all, nil
}

// strangersAsk are the requests without a token.
var strangersAsk = []struct {
	method, path string
	body         any
}{
	{http.MethodGet, "/tokens", nil}, {http.MethodGet, "/tasks", nil}, {http.MethodGet, "/tasks/due-1", nil},
	{http.MethodPost, "/tokens", wire.TokenInput{Scope: "admin", Namespace: wire.AllNamespaces}},
	{http.MethodPost, "/tasks", harness.Task("stranger", "http://127.0.0.1:9/", time.Now().Add(time.Hour))},
	{http.MethodGet, "/queues", nil}, {http.MethodGet, "/audit", nil}, {http.MethodGet, "/secrets", nil}, {http.MethodGet, "/cluster", nil},
}

// ask begins to ask, 100 times a second each: strangers, the holder of the token, and
// a balancer that asks /readyz.
func (n *lossNode) ask(ctx context.Context) {
	each := func(list *[]answer, one func(ctx context.Context, i int) answer) {
		n.stopping = append(n.stopping, askEach(ctx, 10*time.Millisecond, list, one))
	}
	stranger, balancer := n.client.WithToken(""), n.client.OutsideAPI()
	each(&n.strangers, func(ctx context.Context, i int) answer {
		r := strangersAsk[i%len(strangersAsk)]
		return ask(ctx, stranger, n.fields, r.method, r.path, r.body)
	})
	each(&n.welcome, func(ctx context.Context, i int) answer {
		if i%2 == 0 {
			return ask(ctx, n.client, n.fields, http.MethodGet, "/tasks?limit=1", nil)
		}
		in := harness.Task(fmt.Sprintf("%s-%d", filepath.Base(filepath.Dir(n.Dir)), i), "http://127.0.0.1:9/", time.Now().Add(time.Hour))
		return ask(ctx, n.client, n.fields, http.MethodPost, "/tasks", in)
	})
	each(&n.ready, func(ctx context.Context, _ int) answer {
		return ask(ctx, balancer, n.fields, http.MethodGet, "/readyz", nil)
	})
}

// judge ends the asking, and says how it went since the store was back. Where all of it is
// gone nothing may be created at any moment; where the settings alone are, until that is noticed.
func (n *lossNode) judge(t *harness.Run, back time.Time, emptied bool) {
	for _, stop := range n.stopping {
		stop()
	}
	n.stopping = nil
	let := 0
	var first answer
	for _, a := range n.strangers {
		if a.status/100 == 2 {
			if let++; let == 1 {
				first = a
			}
		}
	}
	t.Must(let == 0, "%s: requests without a token %d, answered with 2xx %d%s", n.kind, len(n.strangers), let, first.quoted())
	created := 0
	served := time.Duration(0) // the last one
	for _, a := range n.welcome {
		if a.sent.After(back) && a.status/100 == 2 {
			served = max(served, a.sent.Sub(back))
			if strings.HasPrefix(a.what, http.MethodPost) {
				created++
			}
		}
	}
	t.Must((created == 0 || !emptied) && served <= noticedIn, "%s: with the token: created after the loss %d, served for %v", n.kind, created, served.Round(time.Millisecond))
	noticed, after := firstUnready(n.ready, back, "store_replaced", "settings_lost")
	t.Must(noticed.status != 0 && after <= noticedIn, "%s: not ready %v after the store was back%s", n.kind, after.Round(time.Millisecond), noticed.quoted())
	if last := n.ready[len(n.ready)-1]; noticed.status != 0 {
		t.Must(last.status == http.StatusServiceUnavailable, "%s: it stays so", n.kind)
	}
	log, err := os.ReadFile(n.Log.Name())
	lines := bytes.Count(log, []byte("the store is closed"))
	t.Must(err == nil && lines == 1, "%s: errors in its log %d", n.kind, lines)
}
