package receive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/delivery"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/webhook"
)

// Listen is the command foliot listen.
type Listen struct {
	Addr   string        `arg:"" optional:"" default:"127.0.0.1:9000" help:"The address to listen on: host:port, or only a port (default: 127.0.0.1:9000)."`
	Status int           `default:"200" placeholder:"CODE" help:"Answer with this status (default: 200)."`
	Delay  time.Duration `placeholder:"DURATION" help:"Answer after this delay (default: at once)."`
	Count  int           `placeholder:"N" help:"Stop after this many callbacks (default: never). With --try, only the callback of its task counts."`
	Try    time.Duration `placeholder:"DURATION" help:"Create a task that calls this receiver after this delay. Stop when its callback has come, or print why it was not delivered."`
	Quiet  bool          `short:"q" help:"Do not print bodies."`
	Verify []string      `env:"FOLIOT_VERIFY_SECRET" placeholder:"SECRET" help:"Accept only callbacks signed with this secret (whsec_…), or with a secret in @FILE, and answer others with 401. Repeat it for more."`
}

func (Listen) Help() string {
	return `Receives callbacks and prints a line for each: time, method, path, name of the task, number of the attempt, lateness by the clock of
this machine, and body.

With --verify, it checks signatures as a receiver should: it prints the result, and answers 401 if a signature is invalid. Every
user of the machine can see a command line. So put secrets into FOLIOT_VERIFY_SECRET, or into a file with one secret per line.

With --try, it also watches the task that it created. If the callback does not come, it prints the reason from the server at
once, cancels the task and exits with 6. If the server has tokens, this needs a token of scope write (FOLIOT_TOKEN_FILE), and
the server must allow tasks to call loopback (foliot serve --egress-allow 127.0.0.1/32).

Examples:

    foliot listen
    foliot listen --try 3s                 receive a first callback from a running server
    foliot listen 9001 --status 503        make the server retry
    foliot listen --verify @secrets.txt    verify signatures
    foliot listen -o json --count 10 | jq .late_ms`
}

// callback is a received request, in the form that listen prints.
type callback struct {
	Time      string   `json:"time"`
	Method    string   `json:"method"`
	Path      string   `json:"path"`
	Task      string   `json:"task,omitempty"`
	Attempt   int      `json:"attempt,omitempty"`
	WebhookID string   `json:"webhook_id,omitempty"`
	DueAt     string   `json:"due_at,omitempty"`
	LateMS    *float64 `json:"late_ms,omitempty"`
	Verified  *bool    `json:"verified,omitempty"` // only with --verify
	Refusal   string   `json:"refusal,omitempty"`  // the error of the verification
	Body      string   `json:"body,omitempty"`
}

// Run receives callbacks until ctx ends, --count is reached, or the callback of
// the task of --try has come.
func (c *Listen) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if c.Status < 200 || c.Status > 599 {
		return usage.Errorf("--status", "%d is not between 200 and 599", c.Status)
	}
	if c.Delay < 0 || c.Count < 0 || c.Try < 0 {
		return usage.Errorf("--delay, --count, --try", "the value must not be negative")
	}
	addr, err := httpserver.ListenAddr("ADDR", c.Addr)
	if err != nil {
		return err
	}
	secrets, err := verifySecrets(c.Verify)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return httpserver.ListenError("ADDR", addr, err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	rc := &receiver{cmd: c, con: con, secrets: secrets, stop: stop}
	con.Notef("receiving callbacks on http://%s; %s", l.Addr(), c.ending())
	var watched errgroup.Group
	if c.Try > 0 {
		if rc.awaited, err = c.try(ctx, con, api, l.Addr()); err != nil {
			return errors.Join(err, l.Close())
		}
		watched.Go(func() error { return rc.watch(ctx, api) })
	}
	err = httpserver.ServeUntil(ctx, &http.Server{Handler: rc, ReadHeaderTimeout: httpserver.HeaderTimeout, ReadTimeout: httpserver.BodyTimeout, IdleTimeout: httpserver.IdleTimeout}, l)
	stop() // even if ServeUntil has failed
	return errors.Join(err, watched.Wait())
}

func (c *Listen) ending() string {
	switch {
	case c.Try > 0: // only this callback counts, and one is enough
		return "ends after the callback of its task"
	case c.Count > 0:
		return "ends after " + wording.Count(c.Count, "callback")
	}
	return "press Ctrl-C to stop"
}

func (c *Listen) try(ctx context.Context, con *console.Console, api *client.Client, addr net.Addr) (string, error) {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "", err
	}
	host := "127.0.0.1" // reaches even a receiver that listens on all addresses
	if a, ok := addr.(*net.TCPAddr); ok && !a.IP.IsUnspecified() {
		host = a.IP.String()
	}
	t, err := api.Tasks.Create(ctx, client.Spec{
		Delay: c.Try,
		HTTP:  client.HTTP{URL: "http://" + net.JoinHostPort(host, port) + "/hello", Body: client.Text("Hello from Foliot")},
	})
	if err != nil {
		return "", exit.WithOp(err, "add a task")
	}
	con.Notef("created %s, due %s", t.Name, wording.Instant(t.DueAt))
	return t.Name, nil
}

// watch checks the awaited task from its due time on, and stops the receiver if its
// callback will not come. It returns why the callback did not come, or nil if it
// came or the user interrupted. If it did not come, watch cancels the task, because
// its receiver ends.
func (rc *receiver) watch(ctx context.Context, api *client.Client) error {
	defer rc.stop()
	o, failed := rc.checkUntilFailed(ctx, api, time.Now().Add(rc.cmd.Try))
	if rc.arrived() {
		return nil
	}
	cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	_, _ = api.Tasks.Cancel(cleaning, rc.awaited) // an error is ignored: the task may have ended
	if failed {
		return exit.With(exit.Undelivered, errors.New(o.About(rc.awaited)))
	}
	return nil
}

// checkUntilFailed checks the awaited task until an attempt fails, the task
// ends or ctx ends. It prints each reason for which the task waits.
func (rc *receiver) checkUntilFailed(ctx context.Context, api *client.Client, due time.Time) (_ delivery.Obstacle, failed bool) {
	printed := ""
	for next := time.Until(due) + delivery.CheckAfter; console.Pause(ctx, next); next = delivery.CheckEvery {
		o := delivery.FindObstacle(ctx, api, rc.awaited, due)
		switch {
		case ctx.Err() != nil || rc.arrived():
			return delivery.Obstacle{}, false
		case o.Failed:
			return o, true
		case o.Why != "" && o.Why != printed:
			printed = o.Why
			rc.con.Notef("%s", o.About(rc.awaited))
		}
	}
	return delivery.Obstacle{}, false
}

func (rc *receiver) arrived() bool {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return rc.came
}

// receiver answers callbacks and prints them.
type receiver struct {
	cmd     *Listen
	con     *console.Console
	secrets []string // empty if signatures are not checked
	stop    context.CancelFunc
	awaited string // it stops after the callback of this task; "" for none

	mu   sync.Mutex // guards seen, came and the output
	seen int
	came bool // the awaited callback
}

const (
	// cleanTimeout bounds the time to cancel the task of --try.
	cleanTimeout = 2 * time.Second

	maxShown = 64 << 10         // bytes of a body that are printed
	maxRead  = task.MaxBody + 1 // bytes of a body that are read; a signature covers all
)

func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxRead)) // an incomplete body is shown too
	if rc.cmd.Delay > 0 && !console.Pause(r.Context(), rc.cmd.Delay) {
		return
	}
	c := observe(r, arrived, body)
	status := rc.cmd.Status
	if len(rc.secrets) > 0 && !c.verify(rc.secrets, r.Header, arrived, body) {
		status = http.StatusUnauthorized
	}
	if !rc.show(c) {
		status = http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
}

// show prints one callback and reports true, or reports false if --count was
// reached. While a callback is awaited, the others do not count.
func (rc *receiver) show(c callback) bool {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if rc.cmd.Count > 0 && rc.seen >= rc.cmd.Count {
		return false
	}
	own := rc.awaited == "" || c.Task == rc.awaited
	if own {
		rc.seen++
	}
	if rc.cmd.Quiet {
		c.Body = ""
	}
	_ = rc.con.Resultf(c, "%s", c.line()) // without a reader, the sender still gets its answer
	rc.came = rc.came || rc.awaited != "" && own
	if own && rc.seen == rc.cmd.Count || rc.came {
		rc.stop()
	}
	return true
}

func observe(r *http.Request, arrived time.Time, body []byte) callback {
	c := callback{
		Time:      wire.FormatTime(arrived),
		Method:    r.Method,
		Path:      r.URL.RequestURI(),
		Task:      r.Header.Get(webhook.HeaderTask),
		WebhookID: r.Header.Get(webhook.HeaderID),
		DueAt:     r.Header.Get(webhook.HeaderDueAt),
	}
	c.Attempt, _ = strconv.Atoi(r.Header.Get(webhook.HeaderAttempt)) // 0 if the sender is not Foliot
	if due, err := time.Parse(time.RFC3339Nano, c.DueAt); err == nil {
		late := float64(arrived.Sub(due).Microseconds()) / 1000
		c.LateMS = &late
	}
	if c.Body = strings.ToValidUTF8(string(body[:min(len(body), maxShown)]), ""); !utf8.Valid(body) {
		c.Body = fmt.Sprintf("(%d bytes of binary data)", len(body))
	}
	return c
}

func (c callback) line() string {
	words := []string{c.Time, c.Method, c.Path}
	if c.Task != "" {
		words = append(words, fmt.Sprintf("%s attempt %d", c.Task, c.Attempt))
	}
	if c.LateMS != nil {
		words = append(words, fmt.Sprintf("%+.1f ms", *c.LateMS))
	}
	switch {
	case c.Refusal != "":
		words = append(words, "REFUSED: "+c.Refusal)
	case c.Verified != nil:
		words = append(words, "verified")
	}
	if c.Body != "" {
		words = append(words, strings.TrimSpace(c.Body))
	}
	for i := range words {
		words[i] = wording.Printable(words[i])
	}
	return strings.Join(words, "  ")
}
