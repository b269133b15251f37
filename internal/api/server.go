package api

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// Store is what the API needs of a store.
type Store interface {
	task.Ledger
	Settings() *task.Settings
	Configure(ctx context.Context, now task.Millis, edits []task.Edit) ([]task.EditReply, error)
	Counts(ctx context.Context) (map[task.QueueKey]task.Counts, error)
	Audit(ctx context.Context, f task.AuditFilter, before uint64, limit int) (task.AuditPage, error)
	Record(ctx context.Context, entries []task.AuditEntry) error
	Durability() string
	Err() error
}

// Config is what an operator decides about the API, and what other parts of the
// server have to say through it. The zero Config works on loopback.
//
// Until there is a first token (task.Settings.Secured) whoever reaches the
// server may do everything: it must not be reached from beyond loopback then.
// That is the caller's to see to.
type Config struct {
	// BodyLimit bounds the body of one task, in bytes. Default: 256 KiB; at
	// most 1 MiB, more is cut down to that.
	BodyLimit int
	// AllowedHosts are the names, without port, by which clients may call the
	// server: a request whose Host is another is refused, as a page in a
	// browser could send it (DNS rebinding). Loopback names and the address a
	// connection came in on are always allowed; unspecified addresses are
	// passed over, so that a listener's host can be given as it is.
	AllowedHosts []string
	// ClientAddr returns who sent a request: for the audit log, and for the limit
	// of failed logins. Default: the other end of the connection. Behind a proxy
	// that is the proxy, and all its clients share one limit.
	ClientAddr func(*http.Request) netip.Addr
	// Version is what the OpenAPI document and the health routes show.
	// Default: "dev".
	Version string
	// Now reads the wall clock: requests count from it, and what is due, held or
	// expired is so by it. It must be the clock that the store's other callers go
	// by. Limits and deadlines of connections have a clock of their own. It must not
	// block. Default: time.Now.
	Now func() time.Time
	// Trusted is the time by which a full namespace forgets tokens that ended: Now, but behind
	// it while Now may be wrong. Default: Now.
	Trusted func() time.Time
	// Log is told of what went wrong here. Default: slog.Default().
	Log *slog.Logger

	// Admitted is told who sent a request, before it is carried out: the
	// namespace that it is about, and the token's id, "" where none was asked for.
	// ctx is the request's. It must be quick. Default: nobody is told.
	Admitted func(ctx context.Context, namespace, token string)
	// Observe is told of each request that was answered: the route's path as
	// OpenAPI has it ("other" where none took it), the method, the status and how
	// long it took. Status 0: the connection ended before there was one. It must
	// be quick. Default: nobody is told.
	Observe func(route, method string, status int, d time.Duration)
	// Trace returns the span that a request is served in, as a W3C traceparent,
	// "" where there is none: tasks keep it. Default: the request's own.
	Trace func(context.Context) string
	// Backup writes a backup of the store. It may be called several times at
	// once. Default: the server has none, and says so.
	Backup func(context.Context, io.Writer) error
	// Examine examines the servers of the store. Default: the store has none.
	Examine func(context.Context) []wire.Finding
	// Metrics serves /metrics. Default: the server has none, and says so.
	Metrics http.Handler
	// Live returns what the server is doing, of all namespaces. Default: the
	// server does not tell.
	Live func() wire.Live
	// Egress returns whether tasks may call a URL; without a host in the reply the URL
	// is none that a task may have. It may wait for a resolver. Default: the server
	// does not explain.
	Egress func(ctx context.Context, url string) wire.Egress
}

func (c Config) withDefaults() Config {
	if c.BodyLimit <= 0 {
		c.BodyLimit = task.MaxBodyDefault
	}
	c.BodyLimit = min(c.BodyLimit, task.MaxBody)
	if c.ClientAddr == nil {
		c.ClientAddr = peer
	}
	if c.Version == "" {
		c.Version = "dev"
	}
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

// Server answers the API's requests. It starts no goroutine. All methods may
// be called by many goroutines.
type Server struct {
	cfg     Config
	store   *boundStore
	nodes   task.Cluster // nil: the store is this server's own
	guard   *guard
	mux     *http.ServeMux
	openAPI func() openAPI // built when first asked for
	cursors sealer
	started time.Time

	latch    latch
	logins   logins
	refusals refusals
	uses     uses
	rates    rates
	loads    shares       // of memory for bodies
	replies  shares       // of memory for replies that clients have yet to take
	polls    shares       // of the long polls that wait
	underWay shares       // of requests
	turns    turns        // of lists, searches and large bodies
	braked   atomic.Int32 // refused requests that wait before they are answered
	samples  samples
	places   chan struct{} // has an element for each handler that runs
	waiting  waiters
	failures failures
	buffers  sync.Pool // *bytes.Buffer, for requests and replies
	stop     chan struct{}
	stopped  sync.Once // closes stop
}

// New returns a server of the store's tasks, and of its nodes where it implements
// task.Cluster. The http.Server around it should
// bound headers and whole requests in time (ReadHeaderTimeout, ReadTimeout);
// routes that take longer by nature extend their own deadlines.
func New(cfg Config, store Store) *Server {
	s := &Server{cfg: cfg.withDefaults(), cursors: newSealer(), started: time.Now(), stop: make(chan struct{}), places: newPlaces()}
	s.loads.most, s.replies.most, s.polls.most, s.underWay.most = maxLoad, maxReplies, maxPolls, maxUnderWay
	if nodes, ok := store.(task.Cluster); ok {
		s.nodes = boundCluster{nodes}
	}
	s.store = &boundStore{store}
	s.turns = newTurns(s.nodes != nil)
	_ = s.latch.lost(store.Settings()) // they are the first: nothing is lost yet
	s.guard = newGuard(s.cfg.AllowedHosts)
	s.buffers.New = func() any { return new(bytes.Buffer) }
	s.openAPI = sync.OnceValue(func() openAPI { return newOpenAPI(s.describe(routes())) })
	s.mux = s.route(routes())
	return s
}

// Stop makes the long polls return with what they know, new ones too, and
// /readyz say no; everything else goes on. It is for the beginning of a
// shutdown, which would wait for the polls: http.Server.RegisterOnShutdown
// takes it. Twice is fine.
func (s *Server) Stop() {
	s.stopped.Do(func() { close(s.stop) })
}

// Notify says that the tasks may have changed: the long polls that wait for
// them look again at once. It is a hint, they also look by themselves. It does
// not block, and costs next to nothing where nobody waits.
func (s *Server) Notify(keys ...task.Key) { s.waiting.notify(keys...) }

// ServeHTTP answers one request. What a handler panics with is logged and
// answered as an internal problem.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began, out := time.Now(), s.newResponse(w, r)
	w = out
	defer func() {
		out.finish()
		if s.cfg.Observe != nil {
			s.observe(r, out.status, began)
		}
	}()
	if r.Context().Err() != nil { // the client took the request back while it waited for a place
		return
	}
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
	if err := s.guard.check(r); err != nil {
		s.fail(w, r, err)
		return
	}
	if !cleanPath(r) {
		s.fail(w, r, s.unrouted(w, r))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// now is the instant that a request counts from, read once when all of it is
// there: rounded up, as delays are promised to be no shorter than they say.
func (s *Server) now() task.Millis { return task.CeilMillis(s.cfg.Now()) }

// write sends v as JSON. It is encoded first, so that an error in it still has
// a status of its own.
func (s *Server) write(ctx context.Context, w http.ResponseWriter, mediaType string, status int, v any) {
	buf := s.buffer()
	defer func() { s.release(buf) }()
	if err := wire.Encode(buf, v); err != nil {
		s.cfg.Log.LogAttrs(ctx, slog.LevelError, "encode a reply", slog.Any("error", err))
		p := problemOf(err)
		s.write(ctx, w, wire.ProblemType, p.Status, p)
		return
	}
	buf.WriteByte('\n')
	if out, ok := w.(*response); ok {
		if err := out.hold(buf.Cap()); err != nil && status < http.StatusBadRequest {
			s.release(buf)
			buf = s.buffer() // the large one must not wait for the client
			w.Header().Del("ETag")
			w.Header().Set("Retry-After", "1")
			p := problemOf(err)
			s.write(ctx, w, wire.ProblemType, p.Status, p)
			return
		}
	}
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(buf.Bytes()) // the client went away: nobody is left to be told
}

func (s *Server) buffer() *bytes.Buffer { return s.buffers.Get().(*bytes.Buffer) }

// release gives buf back, unless it grew to a size that is rarely needed.
func (s *Server) release(buf *bytes.Buffer) {
	if buf.Cap() > 1<<20 {
		return
	}
	buf.Reset()
	s.buffers.Put(buf)
}
