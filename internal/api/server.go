package api

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/activity"
	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/sparselog"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// Store is the part of a store that the API uses.
type Store interface {
	store.TaskStore
	history.Store
	Standing() store.Standing
	Configure(ctx context.Context, now task.Millis, edits []settings.Edit) ([]settings.EditReply, error)
	Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error)
	Audit(ctx context.Context, f settings.AuditFilter, before uint64, limit int) (settings.AuditPage, error)
}

// Engine is the node behind the API, apart from its store.
type Engine interface {
	// Live returns the activity in all namespaces.
	Live() wire.Live
	// FlushHistory writes the events until now to the history in the store, if that is
	// possible at once.
	FlushHistory(ctx context.Context)
	// RecentAttempts returns recent attempts, the latest first. If detailed is
	// set, their errors can contain addresses of the internal network.
	RecentAttempts(f activity.Filter, detailed bool) wire.AttemptList
	// Near returns the number of timers on the timing wheel, and the time until
	// which waiting tasks are read into memory.
	Near() (timers int, until task.Millis)
	// WaitsFor returns why a task does not start, or nil if it need not start
	// yet, and must return quickly.
	WaitsFor(*task.Task) *wire.WaitsFor
	// Handles reports whether this process has handlers for a namespace. If it
	// has none, the namespace needs the setting Kinds for tasks with a kind.
	Handles(namespace string) bool

	// Backup returns the function that writes a backup of the store, or nil if
	// the store has none. Several calls may run at once.
	Backup() func(context.Context, io.Writer) error
	// Examine returns the function that examines the disk or the servers of the
	// store, or nil if it has neither.
	Examine() func(context.Context) []wire.Finding
	// Egress returns the function that reports whether tasks may call a URL, or
	// nil if nothing here knows that. The function may wait for a resolver, and
	// returns an empty Host if no task may have the URL.
	Egress() func(ctx context.Context, url string) wire.Egress
}

// Config has the operator's settings of the API and its connections to other
// parts of the server. The zero Config works on loopback.
//
// Until the first token exists (settings.Settings.Secured), every client that
// reaches the server is an operator. The caller must ensure that only loopback
// can reach it then.
type Config struct {
	// BodyLimit bounds the body of one task, in bytes, and is cut down to 1 MiB
	// if it is more. Default: 256 KiB.
	BodyLimit int
	// AllowedHosts are the names, without port, by which clients may call the
	// server. A request with another Host is refused: a page in a browser could
	// send it (DNS rebinding). Loopback names and the address of the connection
	// are always allowed. Unspecified addresses are ignored, so the host of a
	// listener can be passed unchanged.
	AllowedHosts []string
	// ClientAddr returns the client's address, for the audit log and the limit of
	// failed logins. Default: the other end of the connection, which behind a
	// proxy is the proxy, so all its clients share one limit.
	ClientAddr func(*http.Request) netip.Addr
	// Version is shown by the OpenAPI document and the health routes. Default:
	// "dev".
	Version string
	// Now returns the wall clock time, from which delays count. It decides which
	// tasks are due, held or expired, so it must be the clock of the store's other
	// callers. Limits and deadlines of connections use another clock. Now must not
	// block. Default: time.Now.
	Now func() time.Time
	// Trusted returns the time by which a full namespace forgets ended tokens,
	// which is Now, or an earlier time while Now may be wrong. Default: Now.
	Trusted func() time.Time
	// Log receives errors of the server. Default: slog.Default().
	Log *slog.Logger
	// LogChanges writes a line to Log for each change of a task or a schedule by a
	// client.
	LogChanges bool

	// Authorize returns the rights of a request, as a token with a namespace and a
	// scope, or nil if the request is refused. It replaces the access tokens and
	// the check of the Host, for a program that authenticates its own users.
	// Several goroutines call it at the same time, and a long request calls it
	// again. Default: the access tokens.
	Authorize func(*http.Request) *settings.AccessToken

	// Authenticated is called with the context of an authenticated request before it
	// is carried out, and must return quickly. Default: none.
	Authenticated func(context.Context)
	// Observe is called after each request with its context, the route's path as in OpenAPI
	// ("other" for no route), the method, the status (0 if the connection ended
	// before a reply) and the duration. It must return quickly. Default: none.
	Observe func(ctx context.Context, route, method string, status int, d time.Duration)
	// Trace returns the span of a request as a W3C traceparent, or "". Tasks keep
	// it. Default: the traceparent header.
	Trace func(context.Context) string
	// Engine is the node behind the API. Default: none, so routes that need it
	// reply 501, no reply shows why a task waits, and no process has handlers.
	Engine Engine
	// Metrics serves /metrics. Default: the route replies 501.
	Metrics http.Handler
	// Page serves the web page below /ui/. Default: there is no page.
	Page http.Handler
}

func (c Config) withDefaults() Config {
	if c.BodyLimit <= 0 {
		c.BodyLimit = task.MaxBodyDefault
	}
	c.BodyLimit = min(c.BodyLimit, task.MaxBody)
	if c.ClientAddr == nil {
		c.ClientAddr = peer
	}
	c.Version = cmp.Or(c.Version, "dev")
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Trusted == nil {
		c.Trusted = c.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Server serves the API, and starts no goroutine. All methods may be called
// concurrently.
type Server struct {
	cfg     Config
	store   *boundStore
	nodes   store.Cluster // nil means that the store is embedded
	guard   *guard
	mux     *http.ServeMux
	openAPI func() fixedText // built at the first call
	cursors sealer
	started time.Time

	tokenGuard tokenGuard
	logins     logins
	refusals   refusals
	uses       uses
	gate       *admission.Gate
	delayed    atomic.Int32 // refused requests with a delayed reply
	samples    sampled[struct{}, *liveSample]
	dueSamples sampled[dueQuery, []byte]
	counting   chan struct{} // has an element for each count of the due index of a shared store
	waiting    waiters
	buffers    sync.Pool // *bytes.Buffer, for requests and replies
	stop       chan struct{}
	stopped    sync.Once // closes stop
}

// New returns a server for the tasks of st, and for its nodes if st
// implements store.Cluster. The http.Server around it should bound the time of
// headers and of whole requests (ReadHeaderTimeout, ReadTimeout). Routes that
// take longer extend their own deadlines.
func New(cfg Config, st Store) *Server {
	s := &Server{cfg: cfg.withDefaults(), cursors: newSealer(), started: time.Now(), stop: make(chan struct{}), counting: make(chan struct{}, 2)}
	turns := max(1, runtime.GOMAXPROCS(0)/2)
	if nodes, ok := st.(store.Cluster); ok {
		s.nodes, turns = nodes, max(2, runtime.GOMAXPROCS(0)) // a turn mostly waits for another machine
	}
	s.gate = admission.New(turns)
	s.store = &boundStore{Store: st, gate: s.gate}
	if s.nodes != nil {
		s.store.patience = sharedPatience
	}
	if s.cfg.LogChanges {
		s.store.changes = s.cfg.Log // each change has a line
	}
	s.cfg.Log = sparselog.New(s.cfg.Log)
	_ = s.tokenGuard.check(st.Standing().Settings) // never an error: these are the first settings
	s.guard = newGuard(s.cfg.AllowedHosts)
	s.buffers.New = func() any { return new(bytes.Buffer) }
	s.openAPI = sync.OnceValue(func() fixedText {
		return newFixedText(jsonType, bytes.Replace(openAPI, []byte(`"version": "dev"`), []byte(`"version": `+strconv.Quote(s.cfg.Version)), 1))
	})
	s.mux = s.route(routes())
	return s
}

// Stop ends the long polls with the present state of their tasks, later ones
// too, and makes /readyz fail. All other requests go on. Call it at the start
// of a shutdown, which would wait for the polls, so pass it to
// http.Server.RegisterOnShutdown; it may be called again.
func (s *Server) Stop() {
	s.stopped.Do(func() { close(s.stop) })
}

// Notify reports that the tasks may have changed, so that long polls read them
// at once. It is a hint, because polls also read by themselves; it does not
// block, and is very cheap if no poll waits.
func (s *Server) Notify(keys ...task.Key) { s.waiting.notify(keys...) }

// ServeHTTP serves one request, and answers a panic of a handler with a log
// entry and an internal problem.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began, out := time.Now(), s.newResponse(w, r)
	w = out
	defer func() {
		out.Leave()
		s.logRequest(r, out, began)
		if s.cfg.Observe != nil {
			s.observe(r, out.status, began)
		}
	}()
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			panic(v)
		default:
			s.crashed(r.Context(), w, v, debug.Stack())
		}
	}()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if err := s.guard.check(r, s.cfg.Authorize == nil); err != nil {
		s.fail(w, r, err)
		return
	}
	if !cleanPath(r) {
		s.fail(w, r, s.unrouted(w, r))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// now returns the time of a request, which handlers read once, after the whole
// request has arrived. It is rounded up, so that no delay is shorter than
// requested.
func (s *Server) now() task.Millis { return task.CeilMillis(s.cfg.Now()) }

// write sends v as JSON, encoded first, so that an encoding error can still set
// the status.
func (s *Server) write(ctx context.Context, w http.ResponseWriter, mediaType string, status int, v any) {
	buf := s.buffer()
	defer s.release(buf)
	if err := wire.Encode(buf, v); err != nil {
		s.cfg.Log.LogAttrs(ctx, slog.LevelError, "cannot encode reply", slog.Any("error", err))
		p := problemOf(err)
		s.write(ctx, w, wire.ProblemType, p.Status, p)
		return
	}
	buf.WriteByte('\n')
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(buf.Bytes()) // no reply is possible if the client is gone
}

func (s *Server) buffer() *bytes.Buffer { return s.buffers.Get().(*bytes.Buffer) }

// release returns buf to the pool, unless it grew to a rare size.
func (s *Server) release(buf *bytes.Buffer) {
	if buf.Cap() > 1<<20 {
		return
	}
	buf.Reset()
	s.buffers.Put(buf)
}
