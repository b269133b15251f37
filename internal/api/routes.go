package api

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// route is one method of one path: what serves it, and what OpenAPI says of it.
type route struct {
	method, path string
	serve        func(*Server, http.ResponseWriter, *request) error

	// scope is what a token must allow. A route that has none and is not public
	// is a programming error: New panics.
	scope    task.Scope
	operator bool // belongs to the whole server: the token must be an operator's
	public   bool // needs no token, and is about no namespace
	costly   bool // refused to other sites' pages although it changes nothing
	extra    bool // the server may not have it: 501
	watches  bool // serves monitoring and diagnosis, also while its store is closed

	id, summary, about string
	tag                string

	query   []param // any other query parameter is refused: a filter with a typing error chooses everything
	headers []param // those worth a description
	body    any     // a value of the body's type; nil: none
	bodies  []string
	replies []reply

	optional      bool // the body may be left out
	unprocessable bool // it may ask for more than is done at once: 422
	unfollowed    bool // a GET of what the server cannot tell now: 409
}

// reply is what a route answers when all goes well.
type reply struct {
	status int
	about  string
	body   any    // a value of its type; nil: none
	media  string // default: application/json
	tagged bool   // has an ETag
	placed bool   // has a Location
}

// shows is a reply that shows a task.
func shows(status int, about string) reply {
	return reply{status: status, about: about, body: wire.Task{}, tagged: true, placed: status == http.StatusCreated}
}

// request is what a handler gets.
type request struct {
	*http.Request
	caller
	scope task.Scope // of its route
	query url.Values
	load  int    // bytes of its body that are counted in Server.loads
	made  bool   // a change of it was made, or the store confirmed an earlier one
	lower string // the durability that its changes reached, if that is lower than the store's
	out   *response
}

// reached notes how durable changes of r are.
func (r *request) reached(replies []task.Reply) {
	for i := range replies {
		if err := replies[i].Err; err == nil || errors.Is(err, task.ErrExists) {
			r.made, r.lower = true, cmp.Or(replies[i].Durability, r.lower)
		}
	}
}

// durability returns the level that all changes of r have reached, "" if it made none.
// A task that exists counts as one: the store confirms it before it refuses the create.
// It confirms nothing for other refusals.
func (s *Server) durability(r *request) string {
	if !r.made {
		return ""
	}
	return cmp.Or(r.lower, s.store.Durability())
}

const (
	tasksPath = wire.Version + "/tasks"
	taskPath  = tasksPath + "/{name}"

	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
)

func routes() []route {
	return slices.Concat(createRoutes(), taskRoutes(), filterRoutes(), scheduleRoutes(), queueRoutes(), accessRoutes(), namespaceRoutes(), clusterRoutes(), serverRoutes(), publicRoutes())
}

func createRoutes() []route {
	created := shows(201, "Created, and durable. The repeat of a create with the same Idempotency-Key is answered with the task it made.")
	return []route{
		{
			method: "POST", path: tasksPath, serve: (*Server).create, scope: task.ScopeWrite, tag: "tasks",
			id: "createTask", summary: "Create a task",
			headers: []param{idempotencyHeader}, body: wire.TaskInput{}, replies: []reply{created},
		},
		{
			method: "POST", path: tasksPath + "/batch", serve: (*Server).batch, scope: task.ScopeWrite, tag: "tasks",
			id: "createTasks", summary: "Create up to 1000 tasks",
			about: "Not atomic: each item is created, or not, by itself, and has its result in the order of the items. " +
				"At most 16 MiB. JSON that is broken refuses the whole; whatever else is wrong with an item refuses that item.",
			body: batchInput{}, replies: []reply{{status: 200, about: "A result for each item.", body: wire.BatchReply{}}},
		},
		{
			method: "PUT", path: taskPath, serve: (*Server).put, scope: task.ScopeWrite, tag: "tasks",
			id: "putTask", summary: "Create or replace a task",
			about: "If an attempt of the old task is under way, the new one starts when that has settled, whatever its outcome. " +
				"Without an Idempotency-Key each PUT makes a new task, so a repeat by a client or a proxy can be delivered again.",
			headers: []param{ifMatchHeader, ifNoneMatchHeader, idempotencyPutHeader}, body: wire.TaskInput{},
			replies: []reply{
				shows(200, "Replaced, and durable. under_way is true if an attempt of the old task may be under way, or may still begin. A repeat of a PUT with the same Idempotency-Key changes nothing: the reply is the task as it is now, whatever If-Match and If-None-Match say."),
				shows(201, "Created, and durable."),
			},
		},
		{
			method: "POST", path: wire.Version + "/publish", serve: (*Server).publish, scope: task.ScopeWrite, tag: "tasks",
			id: "publish", summary: "Forward this request, later",
			about: "The body, of any content type, becomes the task's: a POST to url. The task sends the headers that describe the body " +
				"(Content-Type, Content-Encoding, Content-Language, Content-Disposition, Content-Digest), and each Foliot-Forward-<header> without that prefix, " +
				"which wins: Foliot-Forward-Authorization: Bearer x is sent as Authorization: Bearer x. All other headers stay here: proxies add some, which no receiver must see. " +
				"Without Foliot-Delay and Foliot-At it is due now.",
			query: publishQuery, headers: append(slices.Clone(publishHeaders), idempotencyHeader),
			body: []byte(nil), bodies: []string{"*/*"}, replies: []reply{created},
		},
	}
}

func taskRoutes() []route {
	conditions := []param{ifMatchHeader}
	return []route{
		{
			method: "GET", path: taskPath, serve: (*Server).get, scope: task.ScopeRead, tag: "tasks",
			id: "getTask", summary: "Read a task",
			about:   "The entity tag counts what clients changed: attempts and the state they lead to do not change it. It serves If-Match; a read is always answered in full.",
			query:   []param{waitParam},
			replies: []reply{shows(200, "The task, with its body.")},
		},
		{
			method: "PATCH", path: taskPath, serve: (*Server).patch, scope: task.ScopeWrite, tag: "tasks",
			id: "patchTask", summary: "Change some fields of a task",
			about: "A merge patch (RFC 7396) in two respects more careful: labels and headers as a whole cannot be null, and a JSON body is replaced, not merged. " +
				"While an attempt is under way its due time cannot change, and the rest counts from the next attempt on. A dead task stays dead.",
			headers: conditions, body: wire.TaskPatch{}, bodies: []string{jsonType, mergePatchType}, replies: []reply{shows(200, "Changed, and durable. under_way is true if an attempt of the task as it was may be under way, or may still begin.")},
		},
		{
			method: "POST", path: taskPath + "/touch", serve: (*Server).touch, scope: task.ScopeWrite, tag: "tasks",
			id: "touchTask", summary: "Make a task due its delay from now: a watchdog's heartbeat",
			headers: conditions, replies: []reply{shows(200, "Due its delay from now, attempts back to 0.")},
		},
		{
			method: "POST", path: taskPath + "/run", serve: (*Server).runNow, scope: task.ScopeWrite, tag: "tasks",
			id: "runTask", summary: "Make a task due now",
			headers: conditions, replies: []reply{shows(200, "Due now; it passes pause and rate, not concurrency.")},
		},
		{
			method: "POST", path: taskPath + "/retry", serve: (*Server).retry, scope: task.ScopeWrite, tag: "tasks",
			id: "retryTask", summary: "Give a dead task all its attempts again, or send a finished one again if its queue keeps bodies",
			headers: conditions, replies: []reply{shows(200, "Due now, attempts back to 0, with the same id.")},
		},
		{
			method: "DELETE", path: taskPath, serve: (*Server).cancel, scope: task.ScopeWrite, tag: "tasks",
			id: "cancelTask", summary: "Cancel a task",
			headers: conditions,
			replies: []reply{
				shows(200, "Cancelled: no attempt starts after this reply. The body has no under_way. Of a task that was cancelled before, already is true."),
				shows(202, "An attempt is, or may be, under way, and under_way is true: no retry follows it; the task ends delivered or cancelled."),
			},
		},
	}
}

func filterRoutes() []route {
	const about = "By the filters of the list; all given must match. Names at least one, or all=true. " +
		"Goes through the tasks in pages, each durable before the next: a request that breaks off has changed a part, and can be repeated. " +
		"With expect the tasks are counted first, and tasks that begin to match after the count are left alone. "
	bulk := []reply{{status: 200, about: "How many tasks were changed.", body: wire.BulkReply{}}}
	return []route{
		{
			method: "GET", path: tasksPath, serve: (*Server).list, scope: task.ScopeRead, tag: "tasks",
			id: "listTasks", summary: "List tasks",
			about:   "The order is not specified. A page may be short, or empty, and still have a next_cursor: at most 10,000 records are examined for one.",
			query:   append(slices.Clone(filterParams), limitParam, cursorParam, includeParam),
			replies: []reply{{status: 200, about: "A page of tasks.", body: wire.TaskList{}}},
		},
		{
			method: "POST", path: tasksPath + "/cancel", serve: (*Server).cancelMany, scope: task.ScopeWrite, tag: "tasks",
			id: "cancelTasks", summary: "Cancel the tasks that match", about: about + "Without state: all that are not finished.",
			query: append(slices.Clone(filterParams), allParam, expectParam), replies: bulk,
		},
		{
			method: "POST", path: tasksPath + "/retry", serve: (*Server).retryMany, scope: task.ScopeWrite, tag: "tasks",
			id: "retryTasks", summary: "Retry the dead tasks that match", about: about + "Without state: the dead ones. Finished ones can be retried if their queue kept their bodies; the others are skipped.",
			query: append(slices.Clone(filterParams), allParam, expectParam), replies: bulk,
		},
	}
}

func publicRoutes() []route {
	return []route{
		{
			method: "GET", path: "/healthz", serve: (*Server).healthz, public: true, tag: "server",
			id: "healthz", summary: "Is the process alive?", replies: []reply{{status: 200, about: "It is.", body: wire.Health{}}},
		},
		{
			method: "GET", path: "/readyz", serve: (*Server).readyz, public: true, tag: "server",
			id: "readyz", summary: "Does it take requests?",
			about: "503 when the store stopped or is away, was emptied or replaced, the server is stopping, or its node's name is another's that lives.", replies: []reply{{status: 200, about: "It does.", body: wire.Health{}}},
		},
		{
			method: "GET", path: "/openapi.json", serve: (*Server).document, public: true, tag: "server",
			id: "openapi", summary: "This document", replies: []reply{{status: 200, about: "OpenAPI 3.1.", body: map[string]any{}}},
		},
	}
}

// route builds the mux. Beside the routes it serves the root, for people, and
// everything else as a problem.
func (s *Server) route(rs []route) *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range rs {
		if !r.public && !r.scope.Valid() {
			panic("api: " + r.method + " " + r.path + " does not say who may use it")
		}
		mux.Handle(r.method+" "+r.path, s.handler(r))
	}
	mux.Handle("GET /{$}", s.handler(route{serve: (*Server).root, public: true}))
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

// serve asks who sent r before anything else of it is looked at.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, rt *route) error {
	if rt.costly || !rt.public && !s.store.Settings().Secured() {
		// Without tokens a page needs no more than to reach the server: it must not
		// make it work, nor read it by a side channel.
		if err := s.guard.checkOrigin(r); err != nil {
			return err
		}
	}
	caller, err := s.authenticate(w, r, rt)
	if err != nil {
		return err
	}
	if s.cfg.Admitted != nil && !rt.public {
		s.cfg.Admitted(r.Context(), caller.namespace, caller.tokenID())
	}
	query, err := readQuery(r, rt.query)
	if err != nil {
		return err
	}
	out := w.(*response)
	if !rt.public {
		if err := out.account(caller.account(rt), rt.method == http.MethodGet); err != nil {
			return err
		}
	}
	asked := &request{Request: r, caller: caller, scope: rt.scope, query: query, out: out}
	defer func() { s.loads.give(asked.namespace, asked.load) }()
	if out.reads && !rt.operator {
		if err := s.checkRate(w, asked, task.ReadRate); err != nil {
			return err
		}
	}
	return rt.serve(s, w, asked)
}

// unrouted says what is wrong with a request that no route takes: the path, or
// only the method.
func (s *Server) unrouted(w http.ResponseWriter, r *http.Request) error {
	nowhere := refuse("no_route", "", "nothing is served at this path; /openapi.json describes what is")
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
	return refuse("method_not_allowed", "", "this path takes "+strings.Join(allow, ", ")+s.hintPut(r))
}

// hintPut says how one of a collection is made that takes no POST, "" where r is about none.
func (s *Server) hintPut(r *http.Request) string {
	if r.Method != http.MethodPost {
		return ""
	}
	_, pattern := s.mux.Handler(&http.Request{Method: http.MethodPut, Host: r.Host, URL: &url.URL{Path: r.URL.Path + "/x"}})
	if pattern == "/" {
		return ""
	}
	return ": to make or change one, " + pattern
}

// cleanPath reports whether the mux would take r's path as it is. Others it
// would redirect, and a redirected POST is a trap.
func cleanPath(r *http.Request) bool {
	p := r.URL.Path
	return p == "/" || strings.HasPrefix(p, "/") && path.Clean(p) == strings.TrimSuffix(p, "/")
}
