package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// route is one method of one path, with its handler and its description in
// OpenAPI.
type route struct {
	method, path string
	serve        func(*Server, http.ResponseWriter, *request) error

	// scope is the scope that a token needs. New panics if a route has no scope
	// and is not public.
	scope      settings.Scope
	operator   bool  // belongs to the whole server: the token must be an operator's
	public     bool  // needs no token, and has no namespace
	weight     int64 // in units; zero: see weigh
	unsized    int64 // the weight if the length of the body is not known; zero: Medium
	costly     bool  // refused to pages of other sites, although it changes nothing
	extra      bool  // not on every server: 501
	diagnostic bool  // for monitoring and diagnosis: served while the store is closed

	id, summary, about string
	tag                string

	query   []param // others are refused: a misspelled filter would match every task
	headers []param // headers with a description
	body    any     // a value of the body's type; nil means none
	bodies  []string
	replies []reply

	optional      bool // the body is optional
	unprocessable bool // the request may be too large for one step: 422
	mayConflict   bool // a GET that may fail in the present state: 409
}

// reads reports whether the route changes nothing.
func (r *route) reads() bool { return r.method == http.MethodGet || r.scope == settings.ScopeRead }

// reply is a successful reply of a route.
type reply struct {
	status int
	about  string
	body   any    // a value of its type; nil means none
	media  string // default: application/json
	events bool   // can also be a stream of events
	tagged bool   // has an ETag
	placed bool   // has a Location
}

// shows returns the description of a reply with a task.
func shows(status int, about string) reply {
	return reply{status: status, about: about, body: wire.Task{}, tagged: true, placed: status == http.StatusCreated}
}

// request is the argument of a handler.
type request struct {
	*http.Request
	caller
	ctx   context.Context // nil until the first call of Context
	scope settings.Scope  // of its route
	query url.Values
	made  bool   // the store made a change, or confirmed an earlier one
	lower string // the durability that its changes reached, if that is lower than the store's
	out   *response

	unconfirmed []string // the nodes that have not applied its edit
}

// reached records the durability of changes of r.
func (r *request) reached(replies []store.Reply) {
	for i := range replies {
		if err := replies[i].Err; err == nil || errors.Is(err, task.ErrExists) {
			r.made, r.lower = true, cmp.Or(replies[i].Durability, r.lower)
		}
	}
}

// durability returns the level that all changes of r have reached, "" if it
// made none. An existing task counts as a change, because the store confirms it
// before it refuses the create, which it does for no other refusal.
func (s *Server) durability(r *request) string {
	if !r.made {
		return ""
	}
	return cmp.Or(r.lower, s.store.Standing().Durability)
}

const (
	tasksPath = wire.Version + "/tasks"
	taskPath  = tasksPath + "/{name}"

	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
)

func routes() []route {
	return slices.Concat(createRoutes(), taskRoutes(), filterRoutes(), upcomingRoutes(), scheduleRoutes(), queueRoutes(), accessRoutes(), namespaceRoutes(), dueRoutes(), activityRoutes(), clusterRoutes(), serverRoutes(), publicRoutes())
}

func createRoutes() []route {
	created := shows(201, "Created, and durable. The reply to a repeat with the same Idempotency-Key is the task that the first create made.")
	return []route{
		{
			method: "POST", path: tasksPath, serve: (*Server).create, scope: settings.ScopeWrite, tag: "tasks",
			id: "createTask", summary: "Create a task",
			headers: []param{idempotencyHeader}, body: wire.TaskInput{}, replies: []reply{created},
		},
		{
			method: "POST", path: tasksPath + "/batch", serve: (*Server).batch, scope: settings.ScopeWrite, tag: "tasks",
			unsized: admission.Large, id: "createTasks", summary: "Create up to 1000 tasks",
			about: "Not atomic: each item is created or refused by itself. The results have the order of the items. " +
				"At most 16 MiB. Invalid JSON refuses the whole batch; any other error in an item refuses only that item.",
			body: batchInput{}, replies: []reply{{status: 200, about: "A result for each item.", body: wire.BatchReply{}}},
		},
		{
			method: "PUT", path: taskPath, serve: (*Server).put, scope: settings.ScopeWrite, tag: "tasks",
			id: "putTask", summary: "Create or replace a task",
			about: "If an attempt of the old task is under way, the new task starts after that attempt, with any outcome. " +
				"Without an Idempotency-Key each PUT makes a new task, so a PUT that a client or a proxy repeats may be delivered twice.",
			headers: []param{ifMatchHeader, ifNoneMatchHeader, idempotencyPutHeader}, body: wire.TaskInput{},
			replies: []reply{
				shows(200, "Replaced, and durable. under_way is true if an attempt of the old task may be under way, or may still begin. A repeat with the same Idempotency-Key changes nothing: the reply is the present task, and If-Match and If-None-Match are ignored."),
				shows(201, "Created, and durable."),
			},
		},
		{
			method: "POST", path: wire.Version + "/publish", serve: (*Server).publish, scope: settings.ScopeWrite, tag: "tasks",
			id: "publish", summary: "Forward this request, later",
			about: "Creates a task that POSTs this body, of any content type, to url. The task sends the headers that describe the body " +
				"(Content-Type, Content-Encoding, Content-Language, Content-Disposition, Content-Digest), and each Foliot-Forward-<header> without that prefix, " +
				"which takes precedence: Foliot-Forward-Authorization: Bearer x is sent as Authorization: Bearer x. No other header is sent, because proxies add some that no receiver must see. " +
				"Without Foliot-Delay and Foliot-At the task is due now.",
			query: publishQuery, headers: append(slices.Clone(publishHeaders), idempotencyHeader),
			body: []byte(nil), bodies: []string{"*/*"}, replies: []reply{created},
		},
	}
}

func taskRoutes() []route {
	conditions := []param{ifMatchHeader}
	return []route{
		{
			method: "GET", path: taskPath, serve: (*Server).get, scope: settings.ScopeRead, tag: "tasks",
			id: "getTask", summary: "Read a task",
			about:   "The entity tag counts changes by clients. Attempts and the states after them do not change it. It is for If-Match; a read always returns the whole task.",
			query:   []param{waitParam},
			replies: []reply{shows(200, "The task, with its body.")},
		},
		{
			method: "PATCH", path: taskPath, serve: (*Server).patch, scope: settings.ScopeWrite, tag: "tasks",
			id: "patchTask", summary: "Change some fields of a task",
			about: "A merge patch (RFC 7396) with two differences: labels and headers as a whole cannot be null, and a JSON body is replaced, not merged. " +
				"During an attempt the due time cannot change, and other changes take effect at the next attempt. A dead task stays dead.",
			headers: conditions, body: wire.TaskPatch{}, bodies: []string{jsonType, mergePatchType}, replies: []reply{shows(200, "Changed, and durable. under_way is true if an attempt of the old version may be under way, or may still begin.")},
		},
		{
			method: "POST", path: taskPath + "/touch", serve: (*Server).touch, scope: settings.ScopeWrite, tag: "tasks",
			id: "touchTask", summary: "Restart the delay of a task, as a heartbeat of a watchdog does",
			headers: conditions, replies: []reply{shows(200, "Due after its delay from now, with 0 attempts.")},
		},
		{
			method: "POST", path: taskPath + "/run", serve: (*Server).runNow, scope: settings.ScopeWrite, tag: "tasks",
			id: "runTask", summary: "Make a task due now",
			headers: conditions, replies: []reply{shows(200, "Due now. The task ignores pause and rate, but not concurrency.")},
		},
		{
			method: "POST", path: taskPath + "/retry", serve: (*Server).retry, scope: settings.ScopeWrite, tag: "tasks",
			id: "retryTask", summary: "Retry a dead task, or a finished one if its queue keeps bodies",
			headers: conditions, replies: []reply{shows(200, "Due now, with 0 attempts and the same id.")},
		},
		{
			method: "DELETE", path: taskPath, serve: (*Server).cancel, scope: settings.ScopeWrite, tag: "tasks",
			id: "cancelTask", summary: "Cancel a task",
			headers: conditions,
			replies: []reply{
				shows(200, "Cancelled: no attempt starts after this reply, and under_way is absent. If the task was cancelled before, already is true."),
				shows(202, "under_way is true: an attempt is, or may be, under way. No retry follows it, and the task ends delivered or cancelled."),
			},
		},
	}
}

func filterRoutes() []route {
	const about = "Selects by the filters of the list, which must all match. Requires a filter, or all=true. " +
		"Changes the tasks page by page, in the order of their names, and each page is durable before the next. A request that ends early has changed a part, and can be repeated. " +
		"With expect the tasks are counted first, and tasks that begin to match later are not changed. "
	bulk := []reply{{status: 200, about: "The number of changed tasks.", body: wire.BulkReply{}}}
	query := append(slices.Clone(filterParams), allParam, expectParam, dryRunParam)
	return []route{
		{
			method: "GET", path: tasksPath, serve: (*Server).list, scope: settings.ScopeRead, tag: "tasks",
			weight: admission.Large, id: "listTasks", summary: "List tasks",
			about:   "The order is not specified. A page may be short or empty and still have a next_cursor, because one page examines at most 10,000 records.",
			query:   append(slices.Clone(filterParams), orderParam, limitParam, cursorParam, includeParam),
			replies: []reply{{status: 200, about: "A page of tasks.", body: wire.TaskList{}}},
		},
		{
			method: "POST", path: tasksPath + "/cancel", serve: (*Server).cancelMany, scope: settings.ScopeWrite, tag: "tasks",
			weight: admission.Medium, id: "cancelTasks", summary: "Cancel the tasks that match", about: about + "Without state: all tasks that are not finished.",
			query: query, replies: bulk,
		},
		{
			method: "POST", path: tasksPath + "/retry", serve: (*Server).retryMany, scope: settings.ScopeWrite, tag: "tasks",
			weight: admission.Medium, id: "retryTasks", summary: "Retry the dead tasks that match", about: about + "Without state: dead tasks. Finished tasks can be retried if their queue kept their bodies; others are skipped.",
			query: query, replies: bulk,
		},
		{
			method: "POST", path: tasksPath + "/move", serve: (*Server).moveMany, scope: settings.ScopeWrite, tag: "tasks",
			weight: admission.Medium, id: "moveTasks", summary: "Change the due times of the tasks that match",
			about: about + "Without state: scheduled tasks. Running and finished tasks are skipped. " +
				"With by, a repeat moves tasks again that still match: bound the filter with due_before or due_after.",
			query: query, body: wire.MoveInput{}, replies: bulk,
		},
	}
}

func publicRoutes() []route {
	return []route{
		{
			method: "GET", path: "/healthz", serve: (*Server).healthz, public: true, tag: "server",
			id: "healthz", summary: "Check that the process is alive", replies: []reply{{status: 200, about: "Alive.", body: wire.Health{}}},
		},
		{
			method: "GET", path: "/readyz", serve: (*Server).readyz, public: true, tag: "server",
			id: "readyz", summary: "Check that the server accepts requests",
			about: "503 if the store stopped, cannot be reached, or was emptied or replaced; if the server is stopping; or if another live server has its node name.", replies: []reply{{status: 200, about: "Ready.", body: wire.Health{}}},
		},
		{
			method: "GET", path: "/openapi.json", serve: (*Server).document, public: true, tag: "server",
			weight: admission.Large, id: "openapi", summary: "This document", replies: []reply{{status: 200, about: "OpenAPI 3.1.", body: map[string]any{}}},
		},
	}
}

// route builds the mux. It also serves the root, the web page and the pages of
// docs, for people, whatever the query that a chat or a mail adds to a link. It
// replies to all other paths with a problem.
func (s *Server) route(rs []route) *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range rs {
		if !r.public && !r.scope.Valid() {
			panic("api: " + r.method + " " + r.path + " has no scope")
		}
		mux.Handle(r.method+" "+r.path, s.handler(r))
	}
	mux.HandleFunc("GET /{$}", s.root)
	mux.HandleFunc("GET "+pagesPath, s.page)
	mux.HandleFunc("GET /docs", redirect("docs/"))
	mux.HandleFunc("GET /docs/runbooks", redirect("runbooks/"))
	if s.cfg.Page != nil {
		mux.Handle("GET /ui/", s.cfg.Page)
		mux.HandleFunc("GET /ui", redirect("ui/"))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, s.unrouted(w, r)) })
	return mux
}

func (s *Server) handler(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.serve(w, r, &rt); err != nil {
			s.fail(w, r, err)
		}
	})
}

// serve authenticates the caller of r, then checks and runs the request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, rt *route) error {
	if rt.costly || !rt.public && !s.store.Standing().Settings.Secured() {
		// Without tokens, a page of another site only needs to reach the server. It
		// must not make the server work, or read it by a side channel.
		if err := s.guard.checkOrigin(r); err != nil {
			return err
		}
	}
	out := w.(*response)
	caller, err := s.authenticate(w, r, rt)
	if err != nil {
		if busy := out.enter(r, strangers, admission.Small); busy != nil {
			return busy
		}
		return err
	}
	if !rt.public {
		out.sender = sender{caller.namespace, caller.tokenID()}
		if s.cfg.Authenticated != nil {
			s.cfg.Authenticated(r.Context())
		}
	}
	query, err := readQuery(r, rt.query)
	if err != nil {
		return err
	}
	switch {
	case !rt.public:
		err = out.enter(r, caller.account(rt), weigh(rt, r))
	case rt.weight > 0: // the probes of balancers are not counted
		err = out.enter(r, strangers, weigh(rt, r))
	}
	if err != nil {
		return err
	}
	asked := &request{Request: r, caller: caller, scope: rt.scope, query: query, out: out}
	if rt.reads() && !rt.operator {
		if err := s.checkRate(w, asked, settings.ReadRate); err != nil {
			return err
		}
	}
	return rt.serve(s, w, asked)
}

// unrouted returns the error for a request that no route serves: the path or
// only the method is wrong.
func (s *Server) unrouted(w http.ResponseWriter, r *http.Request) error {
	nowhere := refuse("no_route", "", "no route has this path: /openapi.json lists the routes")
	if !cleanPath(r) {
		return nowhere
	}
	var allow []string
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
		if _, pattern := s.mux.Handler(&http.Request{Method: method, Host: r.Host, URL: r.URL}); pattern != "/" {
			allow = append(allow, method)
		}
	}
	if len(allow) == 0 {
		return nowhere
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	return refuse("method_not_allowed", "", "this path supports only "+strings.Join(allow, ", ")+s.hintPut(r))
}

// hintPut returns a hint that PUT creates a record, if r is a POST to a
// collection without POST.
func (s *Server) hintPut(r *http.Request) string {
	if r.Method != http.MethodPost {
		return ""
	}
	_, pattern := s.mux.Handler(&http.Request{Method: http.MethodPut, Host: r.Host, URL: &url.URL{Path: r.URL.Path + "/x"}})
	if pattern == "/" {
		return ""
	}
	return ": to create or change a record, use " + pattern
}

// cleanPath reports whether the mux serves the path of r without a redirect,
// because a client may repeat a redirected POST as a GET.
func cleanPath(r *http.Request) bool {
	p := r.URL.Path
	return p == "/" || strings.HasPrefix(p, "/") && path.Clean(p) == strings.TrimSuffix(p, "/")
}
