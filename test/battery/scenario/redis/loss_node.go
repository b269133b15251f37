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

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
)

// lossNode is a server and its clients, while its store is damaged.
type lossNode struct {
	*harness.Server
	kind     string
	client   *harness.Client // has a token
	fields   map[string]string
	stopping []func()

	strangers, welcome, ready []answer // used only by their goroutines until stop
}

// startKinds starts three servers, with an operator's token: one on loopback, one
// on all addresses with TLS, and one behind a proxy.
func startKinds(ctx context.Context, st *harness.Environment, url string) (all []*lossNode) {
	var token string
	for i, kind := range []string{"on loopback", "on 0.0.0.0 with TLS", "behind a proxy"} {
		name := fmt.Sprintf("n%d", i+1)
		dir := filepath.Join(st.Dir, name)
		harness.Check(os.Mkdir(dir, 0o700))
		s := harness.OK(harness.NewServer(st.Run.Options.Binary, dir, "--store", url, "--node", name, "--shard-lease", st.Run.Options.ShardLease.String(), "--egress-allow", "127.0.0.0/8"))
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
	{http.MethodGet, "/tokens", nil},
	{http.MethodGet, "/tasks", nil},
	{http.MethodGet, "/tasks/old-1", nil},
	{http.MethodPost, "/tokens", wire.TokenInput{Scope: "admin", Namespace: wire.AllNamespaces}},
	{http.MethodPost, "/tasks", harness.Task("stranger", "http://127.0.0.1:9/", time.Now().Add(time.Hour))},
	{http.MethodGet, "/queues", nil},
	{http.MethodGet, "/audit", nil},
	{http.MethodGet, "/secrets", nil},
	{http.MethodGet, "/cluster", nil},
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

// stop ends the requests. It may be called twice.
func (n *lossNode) stop() {
	for _, stop := range n.stopping {
		stop()
	}
	n.stopping = nil
	n.client.Close()
}

// judge ends the requests, and judges their answers since the Redis was back. If
// only a part of the store is lost, tasks may be created until the server notices
// it.
func (n *lossNode) judge(t *harness.Run, d damage, back time.Time) {
	n.stop()
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
	noticed, took := firstUnready(n.ready, back, d.code)
	t.Must(noticed.status != 0 && took <= noticedIn, "%s: /readyz answers %s %v after the store was back%s", n.kind, d.code, took.Round(time.Millisecond), noticed.quoted())
	before, unaware, after := 0, 0, 0
	served := time.Duration(0) // the last one
	for _, a := range n.welcome {
		if a.status/100 != 2 {
			continue
		}
		served = max(served, a.sent.Sub(back))
		switch {
		case !strings.HasPrefix(a.what, http.MethodPost):
		case a.sent.Before(back):
			before++
		case noticed.status != 0 && a.sent.After(noticed.sent.Add(100*time.Millisecond)):
			after++
		default:
			unaware++
		}
	}
	t.Must(after == 0 && (unaware == 0 || !d.gone), "%s: created before %d, between the damage and the notice %d, after that %d", n.kind, before, unaware, after)
	if d.mend == nil {
		last := n.ready[len(n.ready)-1]
		t.Must(served <= noticedIn && last.status == http.StatusServiceUnavailable, "%s: it stays closed: served with the token for %v", n.kind, served.Round(time.Millisecond))
	}
	log, err := os.ReadFile(n.Log.Name())
	lines := bytes.Count(log, []byte(d.logged))
	t.Must(err == nil && lines == 1, "%s: lines %q in its log %d", n.kind, d.logged, lines)
}
