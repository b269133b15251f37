package cli

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

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/server/httpserver"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/wire"
)

type listenCmd struct {
	Addr   string        `arg:"" optional:"" default:"127.0.0.1:9000" help:"Where to listen: host:port, or a port alone (default: 127.0.0.1:9000)."`
	Status int           `default:"200" placeholder:"CODE" help:"Answer with this status (default: 200)."`
	Delay  time.Duration `placeholder:"DURATION" help:"Answer after this long (default: at once)."`
	Count  int           `placeholder:"N" help:"Stop after so many callbacks (default: never). With --try, only that of its own task counts."`
	Try    time.Duration `placeholder:"DURATION" help:"Create a task that calls this receiver after that long, print it, and stop; or say why it was not delivered."`
	Quiet  bool          `short:"q" help:"Do not print bodies."`
	Verify []string      `env:"FOLIOT_VERIFY_SECRET" placeholder:"SECRET" help:"Accept only callbacks signed with this secret (whsec_…), or with one of those in @FILE, and answer 401 to others. May be repeated."`
}

// Help shows examples below the usage line.
func (listenCmd) Help() string {
	return `Receives callbacks and prints a line for each: when it came, method and path, the task's name, the number of the attempt,
how late it is against its due time by this machine's clock, and its body.

With --verify it does what a receiver should do: it prints whether the signature holds, and answers 401 where it does not. What stands
on the command line is seen by every user of the machine; a secret is better kept in FOLIOT_VERIFY_SECRET or, one a line, in a file.

With --try it also watches its own task. If the callback does not come, it prints the server's reason at once, cancels the task and
exits with 6. On a server with tokens it needs one of scope write (FOLIOT_TOKEN_FILE), and the server must allow tasks to call
loopback (foliot serve --egress-allow 127.0.0.1/32).

Examples:

    foliot listen
    foliot listen --try 3s                 a first callback: needs a server
    foliot listen 9001 --status 503        see retries
    foliot listen --verify @secrets.txt    verify signatures
    foliot listen -o json --count 10 | jq .late_ms`
}

// callback is a request as listen shows it.
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
	Refusal   string   `json:"refusal,omitempty"`  // why it is not verified
	Body      string   `json:"body,omitempty"`
}

// Run receives until ctx ends, --count is reached, or what --try asked for has come.
func (c *listenCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	if c.Status < 200 || c.Status > 599 {
		return usage.Errorf("--status", "%d does not lie between 200 and 599", c.Status)
	}
	if c.Delay < 0 || c.Count < 0 || c.Try < 0 {
		return usage.Errorf("--delay, --count, --try", "none may be negative")
	}
	addr, err := httpserver.ListenAddr("ADDR", c.Addr)
	if err != nil {
		return err
	}
	keys, err := verifyKeys(c.Verify)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return httpserver.ListenError("ADDR", addr, err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	rc := &receiver{cmd: c, con: con, keys: keys, stop: stop}
	con.notef("receiving callbacks on http://%s; Ctrl-C stops", l.Addr())
	watched := func() error { return nil }
	if c.Try > 0 {
		if rc.awaited, err = c.try(ctx, con, api, l.Addr()); err != nil {
			return errors.Join(err, l.Close())
		}
		watched = rc.watch(ctx, api)
	}
	err = httpserver.ServeUntil(ctx, &http.Server{Handler: rc, ReadHeaderTimeout: httpserver.HeaderTimeout, ReadTimeout: httpserver.BodyTimeout, IdleTimeout: httpserver.IdleTimeout}, l)
	stop() // serveUntil may have failed
	return errors.Join(err, watched())
}

// try creates a task that calls addr, and returns its name.
func (c *listenCmd) try(ctx context.Context, con *console, api *client.Client, addr net.Addr) (string, error) {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return "", err
	}
	host := "127.0.0.1" // reaches a receiver that listens everywhere, too
	if a, ok := addr.(*net.TCPAddr); ok && !a.IP.IsUnspecified() {
		host = a.IP.String()
	}
	t, err := api.Tasks.Create(ctx, client.Spec{
		Delay: c.Try,
		HTTP:  client.HTTP{URL: "http://" + net.JoinHostPort(host, port) + "/hello", Body: client.Text("Hello from Foliot")},
	})
	if err != nil {
		return "", renamed(err, "add a task")
	}
	con.notef("created %s, due %s", t.Name, wording.Instant(t.DueAt))
	return t.Name, nil
}

// watch starts a goroutine that looks at the awaited task from its due time on, and
// stops the receiver if the callback will not come. wait waits for the goroutine and
// returns why the callback did not come; nil: it came, or the user gave up. A task
// whose callback did not come is cancelled, because its receiver is gone.
func (rc *receiver) watch(ctx context.Context, api *client.Client) (wait func() error) {
	ended := make(chan error, 1)
	due := time.Now().Add(rc.cmd.Try)
	go func() {
		defer rc.stop()
		o, failed := rc.lookUntilFailed(ctx, api, due)
		if rc.arrived() {
			ended <- nil
			return
		}
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		_, _, _ = api.Tasks.Cancel(cleaning, rc.awaited) // it may have ended; if not, its retries end
		if failed {
			ended <- notDelivered(rc.awaited, o)
			return
		}
		ended <- nil
	}()
	return func() error { return <-ended }
}

// lookUntilFailed looks at the awaited task until an attempt fails, the task ends or
// ctx ends, and prints what the task waits for.
func (rc *receiver) lookUntilFailed(ctx context.Context, api *client.Client, due time.Time) (_ obstacle, failed bool) {
	printed := ""
	for next := time.Until(due) + lookAfter; pause(ctx, next); next = lookEvery {
		o := look(ctx, api, rc.awaited, due)
		switch {
		case ctx.Err() != nil || rc.arrived():
			return obstacle{}, false
		case o.failed:
			return o, true
		case o.why != "" && o.why != printed:
			printed = o.why
			rc.con.notef("%s", o.about(rc.awaited))
		}
	}
	return obstacle{}, false
}

// arrived reports whether the awaited callback has come.
func (rc *receiver) arrived() bool {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return rc.came
}

// receiver answers callbacks and prints them.
type receiver struct {
	cmd     *listenCmd
	con     *console
	keys    [][]byte // none: signatures are not looked at
	stop    context.CancelFunc
	awaited string // the task after whose callback it stops; "" for none

	mu   sync.Mutex // guards seen and came, and keeps lines whole
	seen int
	came bool // the awaited callback
}

const (
	// cleanTimeout bounds the cancel of tasks that a trial leaves behind.
	cleanTimeout = 2 * time.Second

	maxShown = 64 << 10         // of a body
	maxRead  = task.MaxBody + 1 // a signature covers all of it
)

func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	body, _ := io.ReadAll(io.LimitReader(r.Body, maxRead)) // what was cut off is shown as far as it came
	if rc.cmd.Delay > 0 && !pause(r.Context(), rc.cmd.Delay) {
		return
	}
	c := observe(r, arrived, body)
	status := rc.cmd.Status
	if len(rc.keys) > 0 && !c.verify(rc.keys, r.Header, arrived, body) {
		status = http.StatusUnauthorized
	}
	if !rc.show(c) {
		status = http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
}

// show prints one callback, unless --count was reached. While a callback is awaited,
// the others do not count.
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
	if rc.con.json {
		_ = rc.con.object(c) // nobody reads any more: the sender still gets its answer
	} else {
		rc.con.sayf("%s", c.line())
	}
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
		Task:      r.Header.Get("Foliot-Task"),
		WebhookID: r.Header.Get("Webhook-Id"),
		DueAt:     r.Header.Get("Foliot-Due-At"),
	}
	c.Attempt, _ = strconv.Atoi(r.Header.Get("Foliot-Attempt")) // not Foliot's: 0, not shown
	if due, err := time.Parse(time.RFC3339Nano, c.DueAt); err == nil {
		late := float64(arrived.Sub(due).Microseconds()) / 1000
		c.LateMS = &late
	}
	if c.Body = strings.ToValidUTF8(string(body[:min(len(body), maxShown)]), ""); !utf8.Valid(body) {
		c.Body = fmt.Sprintf("(%d bytes that are no text)", len(body))
	}
	return c
}

// line is the callback for people.
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
