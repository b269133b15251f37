package namespaces

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/harness/timing"
)

// Command is the hidden scenario with which the battery starts itself again as
// an attacker. In a separate process, the garbage and the goroutines of the
// attacker do not slow down the clients and clocks of the victim.
const Command = "attack"

// attackOrder is the first line of an attacker's standard input. Its second line
// starts the attack, and the end of the input ends it.
type attackOrder struct {
	Attack    string `json:"attack"`
	Server    string `json:"server"` // host:port
	Roots     []byte `json:"roots"`  // PEM: the authority of the server's certificate
	Namespace string `json:"namespace"`
	Token     string `json:"token,omitempty"`  // absent: a stranger's attack
	Writer    string `json:"writer,omitempty"` // a token to prepare the attack with
	Callback  string `json:"callback"`         // host:port that the rival's tasks call
	Rivals    int    `json:"rivals"`
	Schedules int    `json:"schedules"`
}

// attackReady is the first line of the standard output of an attacker. It means
// that the attack is prepared.
type attackReady struct {
	Count int       `json:"count"`         // tasks that will arrive
	Due   time.Time `json:"due,omitempty"` // when they are due
}

// attackCounts is the second line of the output: the requests of the attacker
// and their replies.
type attackCounts struct {
	Requests int64         `json:"requests"`
	Statuses map[int]int64 `json:"statuses"` // replies by status; zero means that none came
	Bytes    int64         `json:"bytes"`    // of the replies
}

// attacker carries out an attack.
type attacker struct {
	order  attackOrder
	client *harness.Client // shows the attack's token
	tls    *tls.Config
	from   *net.TCPAddr

	// Written by prepare, before the attack starts.
	ready   attackReady
	batches [][]byte

	mu     sync.Mutex // guards counts
	counts attackCounts
}

// attackAddr is the address of the attacker. The victim has another address, so
// that limits for each address do not affect it.
const attackAddr = "127.0.0.66"

// RunAttacker runs the process of an attacker. It returns when in ends.
func RunAttacker(ctx context.Context, in io.Reader, out io.Writer) error {
	input, output := json.NewDecoder(in), json.NewEncoder(out)
	var order attackOrder
	if err := input.Decode(&order); err != nil {
		return fmt.Errorf("read the order: %w", err)
	}
	chosen, err := Choose(order.Attack)
	if err != nil {
		return err
	}
	a, err := newAttacker(order)
	if err != nil {
		return err
	}
	defer a.client.Close()
	if prepare := chosen[0].prepare; prepare != nil {
		if err := prepare(ctx, a); err != nil {
			return fmt.Errorf("prepare the attack: %w", err)
		}
	}
	if err := output.Encode(a.ready); err != nil {
		return err
	}
	var start json.RawMessage
	if err := input.Decode(&start); err != nil {
		return fmt.Errorf("await the start: %w", err)
	}
	stop := timing.InBackground(ctx, func(ctx context.Context) {
		if strike := chosen[0].strike; strike != nil {
			strike(ctx, a)
		}
	})
	if err := input.Decode(&start); !errors.Is(err, io.EOF) {
		stop()
		return fmt.Errorf("await the end: %w", err)
	}
	stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	return output.Encode(a.counts)
}

func newAttacker(order attackOrder) (*attacker, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(order.Roots) {
		return nil, errors.New("the order has no certificate")
	}
	from := net.ParseIP(attackAddr)
	a := &attacker{order: order, from: &net.TCPAddr{IP: from}, counts: attackCounts{Statuses: map[int]int64{}}}
	host, _, err := net.SplitHostPort(order.Server)
	if err != nil {
		return nil, err
	}
	a.tls = &tls.Config{RootCAs: roots, ServerName: host}
	a.client = harness.NewClientFrom(from, "https://"+order.Server+wire.Version).WithToken(order.Token)
	a.client.Trust(roots)
	return a, nil
}

// writer returns a client that may create the tasks of an attack.
func (a *attacker) writer() *harness.Client { return a.client.WithToken(a.order.Writer) }

// note counts a request and its reply; status 0: none came.
func (a *attacker) note(status int, bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Requests++
	a.counts.Statuses[status]++
	a.counts.Bytes += bytes
}

// ask sends a request and reads the reply without keeping it. It returns 0
// unless a whole reply came.
func (a *attacker) ask(ctx context.Context, method, url string, body []byte) int {
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, "https://"+a.order.Server+url, r)
	if err != nil {
		return 0
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.order.Token != "" {
		req.Header.Set("Authorization", "Bearer "+a.order.Token)
	}
	status, n := 0, int64(0)
	if resp, err := a.client.HTTP.Do(req); err == nil {
		if n, err = io.Copy(io.Discard, resp.Body); err == nil {
			status = resp.StatusCode
		}
		resp.Body.Close()
	}
	if ctx.Err() == nil { // the end of the attack breaks replies off
		a.note(status, n)
	}
	return status
}

// hammer calls do repeatedly from several goroutines until ctx ends. If do
// returns false, the server cannot be reached, and the goroutine pauses for a
// moment.
func hammer(ctx context.Context, workers int, do func(worker, i int) bool) {
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if !do(worker, i) {
					timing.Pause(ctx, 20*time.Millisecond)
				}
			}
		})
	}
	group.Wait()
}
