package redis

import (
	"bytes"
	"context"
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

// LostSettings: a store with tokens loses all of its data or a part of it,
// while three servers use it: one on loopback, one on all addresses with TLS,
// and one behind a proxy. Clients without a token, and a client with a token,
// send requests to all of them 100 times a second.
func LostSettings(ctx context.Context, t *harness.Run) {
	for _, l := range storeLosses {
		t.Part(l.name, func() { loseStore(ctx, t, l) })
	}
}

// storeLoss is a way to lose a store.
type storeLoss struct {
	name, dir string
	open      openStore
}

// openStore starts a store with its files in dir. strike damages the store, and
// returns when its Redis servers answer again. It returns the server that must
// stay empty, or nil.
type openStore func(t *harness.Run, dir string) (url string, strike func(context.Context) (emptied *redistest.Server))

var storeLosses = []storeLoss{
	{"DEL of the settings", "del", oneRedis(func(ctx context.Context, r *redistest.Server, _ string) *redistest.Server {
		sendCommand(ctx, r, "DEL", "foliot:{settings}:all")
		return nil
	})},
	{"FLUSHALL", "flushall", oneRedis(func(ctx context.Context, r *redistest.Server, _ string) *redistest.Server {
		sendCommand(ctx, r, "FLUSHALL")
		return r
	})},
	{"an empty restart", "restart", oneRedis(func(_ context.Context, r *redistest.Server, dir string) *redistest.Server {
		r.Kill()
		empty := filepath.Join(dir, "empty")
		harness.Check(os.Mkdir(empty, 0o700))
		harness.Check(r.Restart("--dir", empty))
		return r
	})},
	{"an empty replica is promoted", "replica", sentinelRedis},
	{"one master of a Cluster comes back empty", "cluster", clusterRedis},
}

func oneRedis(strike func(ctx context.Context, r *redistest.Server, dir string) *redistest.Server) openStore {
	return func(t *harness.Run, dir string) (string, func(context.Context) *redistest.Server) {
		r := t.StartRedis(filepath.Base(dir))
		return "redis://" + r.Addr, func(ctx context.Context) *redistest.Server { return strike(ctx, r, dir) }
	}
}

// sentinelRedis empties the replicas of a master without its knowledge, and
// then kills the master.
func sentinelRedis(t *harness.Run, dir string) (string, func(context.Context) *redistest.Server) {
	w := &sentinelGroup{Sentinels: startSentinels(t, dir, false)}
	return w.url(), func(ctx context.Context) *redistest.Server {
		detachReplicas(ctx, w.Servers[0])
		for _, r := range w.Servers[1:] {
			sendCommand(ctx, r, "CONFIG", "SET", "replica-read-only", "no")
			sendCommand(ctx, r, "FLUSHALL")
		}
		w.Servers[0].Kill()
		ctx, stop := context.WithTimeout(ctx, strikeWithin)
		defer stop()
		harness.Check(redistest.Poll(ctx, w.promoted))
		return w.Servers[w.next]
	}
}

// clusterRedis kills one of three masters, and starts it again without its
// file.
func clusterRedis(t *harness.Run, dir string) (string, func(context.Context) *redistest.Server) {
	c := startCluster(t, dir, 3, 0)
	return "redis+cluster://" + strings.Join(c.Addrs(), ","), func(ctx context.Context) *redistest.Server {
		c.Servers[1].Kill()
		harness.Check(c.Servers[1].Restart("--appendonly", "no"))
		harness.Check(c.Await(ctx))
		return nil
	}
}

// loseStore lets one loss happen.
func loseStore(ctx context.Context, t *harness.Run, l storeLoss) {
	dir := t.Path(l.dir)
	harness.Check(os.MkdirAll(dir, 0o700))
	url, strike := l.open(t, dir)
	st := t.OpenLogs(l.dir + "/logs")
	group := startKinds(ctx, st, url)
	const closedFor = 5 * time.Second
	for _, n := range group {
		n.ask(ctx)
	}
	timing.Pause(ctx, time.Second)
	due := time.Now().Add(4 * time.Second) // by then the servers have noticed the loss, or cannot reach the Redis
	names := make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprintf("due-%d", i)
		harness.OK(group[0].client.Create(ctx, harness.Task(names[i], st.Receiver.URL(), due)))
	}
	emptied := strike(ctx)
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
}

// lossNode is a server and its clients.
type lossNode struct {
	*harness.Server
	kind     string
	client   *harness.Client // has a token
	fields   map[string]string
	stopping []func()

	strangers, welcome []answer // used only by their goroutines until judge
	ready              []answer
}

// startKinds starts a server of each kind, with an operator's token.
func startKinds(ctx context.Context, st *harness.Environment, url string) (all []*lossNode) {
	var token string
	for i, kind := range []string{"on loopback", "on 0.0.0.0 with TLS", "behind a proxy"} {
		dir := filepath.Join(st.Dir, fmt.Sprintf("n%d", i+1))
		harness.Check(os.Mkdir(dir, 0o700))
		s := harness.OK(harness.NewServer(st.Run.Options.Binary, dir, "--store", url, "--node", fmt.Sprintf("n%d", i+1), "--egress-allow", "127.0.0.0/8"))
		st.Servers = append(st.Servers, s) // st ends it
		n := &lossNode{Server: s, kind: kind}
		all = append(all, n)
		switch i {
		case 1:
			_, port, _ := strings.Cut(s.Addr, ":")
			s.Listen = "0.0.0.0:" + port
			harness.OK(s.Secure())
		case 2:
			s.Flags = append(s.Flags, "--trusted-proxy", "127.0.0.0/8", "--host", "foliot.example")
			n.fields = map[string]string{"X-Forwarded-For": "198.51.100.7", "X-Forwarded-Proto": "https"}
		}
		harness.Check(s.Run(ctx))
		n.client = harness.NewClient(s.URL())
		if s.Roots != nil {
			n.client.Trust(s.Roots)
		}
		if i == 0 {
			token = harness.OK(n.client.MakeToken(ctx, wire.TokenInput{Scope: "admin", Namespace: wire.AllNamespaces, Label: "operator"})).Token
		}
		n.client = n.client.WithToken(token)
	}
	return all
}

// strangersAsk has the requests without a token.
var strangersAsk = []struct {
	method, path string
	body         any
}{
	{http.MethodGet, "/tokens", nil}, {http.MethodGet, "/tasks", nil}, {http.MethodGet, "/tasks/due-1", nil},
	{http.MethodPost, "/tokens", wire.TokenInput{Scope: "admin", Namespace: wire.AllNamespaces}},
	{http.MethodPost, "/tasks", harness.Task("stranger", "http://127.0.0.1:9/", time.Now().Add(time.Hour))},
	{http.MethodGet, "/queues", nil}, {http.MethodGet, "/audit", nil}, {http.MethodGet, "/secrets", nil}, {http.MethodGet, "/cluster", nil},
}

// ask starts to send requests, 100 a second of each kind: without a token, with
// the token, and to /readyz like a load balancer.
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

// judge ends the requests, and judges their answers since the store was back.
// If the whole store is lost, no task may be created at any time. If only the
// settings are lost, tasks may be created until the server notices the loss.
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
		t.Must(last.status == http.StatusServiceUnavailable, "%s: it stays not ready", n.kind)
	}
	log, err := os.ReadFile(n.Log.Name())
	lines := bytes.Count(log, []byte("the store is closed"))
	t.Must(err == nil && lines == 1, "%s: errors in its log %d", n.kind, lines)
}
