package api

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// handler serves the requests of a route.
type handler func(*Server, http.ResponseWriter, *request) error

// route is one method of one path, with its handler. The tests describe each route
// for OpenAPI.
type route struct {
	method, path string
	serve        handler

	// scope is the scope that a token needs. New panics if a route has no scope
	// and is not public.
	scope      settings.Scope
	operator   bool    // belongs to the whole server: the token must be an operator's
	public     bool    // needs no token, and has no namespace
	weight     int64   // in units; zero: see weigh
	unsized    int64   // the weight if the length of the body is not known; zero: Medium
	costly     bool    // refused to pages of other sites, although it changes nothing
	bodiless   bool    // has no body, and would ignore one
	diagnostic bool    // for monitoring and diagnosis: served while the store is closed
	query      []param // others are refused: a misspelled filter would match every task
}

func (r *route) reads() bool { return r.method == http.MethodGet || r.scope == settings.ScopeRead }

const (
	tasksPath      = wire.Version + "/tasks"
	taskPath       = tasksPath + "/{name}"
	schedulesPath  = wire.Version + "/schedules"
	schedulePath   = schedulesPath + "/{name}"
	queuesPath     = wire.Version + "/queues"
	queuePath      = queuesPath + "/{queue}"
	tokensPath     = wire.Version + "/tokens"
	secretsPath    = wire.Version + "/secrets"
	namespacesPath = wire.Version + "/namespaces"
	namespacePath  = namespacesPath + "/{name}"
	clusterPath    = wire.Version + "/cluster"
	nodePath       = clusterPath + "/nodes/{node}"

	jsonType       = "application/json"
	mergePatchType = "application/merge-patch+json"
)

func routes() []route {
	bulk := append(slices.Clone(filterParams), allParam, expectParam, dryRunParam)
	return []route{
		// Tasks.
		{method: "POST", path: tasksPath, serve: (*Server).create, scope: settings.ScopeWrite},
		{method: "POST", path: tasksPath + "/batch", serve: (*Server).batch, scope: settings.ScopeWrite, unsized: admission.Large},
		{method: "PUT", path: taskPath, serve: (*Server).put, scope: settings.ScopeWrite},
		{method: "POST", path: wire.Version + "/publish", serve: (*Server).publish, scope: settings.ScopeWrite, query: publishQuery},
		{method: "GET", path: taskPath, serve: (*Server).get, scope: settings.ScopeRead, query: []param{waitParam}},
		{method: "PATCH", path: taskPath, serve: (*Server).patch, scope: settings.ScopeWrite},
		{method: "POST", path: taskPath + "/touch", serve: onTask(func(k task.Key, c task.Precondition) task.Change { return task.Touch{Key: k, If: c} }), scope: settings.ScopeWrite, bodiless: true},
		{method: "POST", path: taskPath + "/run", serve: onTask(func(k task.Key, c task.Precondition) task.Change { return task.Run{Key: k, If: c} }), scope: settings.ScopeWrite, bodiless: true},
		{method: "POST", path: taskPath + "/retry", serve: onTask(func(k task.Key, c task.Precondition) task.Change { return task.Revive{Key: k, If: c} }), scope: settings.ScopeWrite, bodiless: true},
		{method: "DELETE", path: taskPath, serve: onTask(func(k task.Key, c task.Precondition) task.Change { return task.Cancel{Key: k, If: c} }), scope: settings.ScopeWrite, bodiless: true},
		{method: "GET", path: tasksPath, serve: (*Server).list, scope: settings.ScopeRead, weight: admission.Large, query: append(slices.Clone(filterParams), orderParam, limitParam, cursorParam, includeParam)},
		{method: "POST", path: tasksPath + "/cancel", serve: (*Server).cancelMany, scope: settings.ScopeWrite, bodiless: true, weight: admission.Medium, query: bulk},
		{method: "POST", path: tasksPath + "/retry", serve: (*Server).retryMany, scope: settings.ScopeWrite, bodiless: true, weight: admission.Medium, query: bulk},
		{method: "POST", path: tasksPath + "/move", serve: (*Server).moveMany, scope: settings.ScopeWrite, weight: admission.Medium, query: bulk},
		{method: "GET", path: wire.Version + "/upcoming", serve: (*Server).upcoming, scope: settings.ScopeRead, weight: admission.Large, query: []param{fromParam, untilParam, queueParam, hourParam, limitParam}},
		// Schedules.
		{method: "GET", path: schedulesPath, serve: (*Server).listSchedules, scope: settings.ScopeRead, weight: admission.Large, query: []param{labelParam, limitParam, cursorParam, includeParam}},
		{method: "GET", path: schedulePath, serve: (*Server).getSchedule, scope: settings.ScopeRead},
		{method: "PUT", path: schedulePath, serve: (*Server).putSchedule, scope: settings.ScopeWrite},
		{method: "DELETE", path: schedulePath, serve: onSchedule(func(k task.Key, c task.Precondition) task.Change { return task.RemoveSchedule{Key: k, If: c} }), scope: settings.ScopeWrite, bodiless: true},
		{method: "POST", path: schedulePath + "/pause", serve: onSchedule(func(k task.Key, c task.Precondition) task.Change { return task.PauseSchedule{Key: k, If: c} }), scope: settings.ScopeWrite, bodiless: true},
		{method: "POST", path: schedulePath + "/resume", serve: onSchedule(func(k task.Key, c task.Precondition) task.Change {
			return task.PauseSchedule{Key: k, If: c, Resume: true}
		}), scope: settings.ScopeWrite, bodiless: true},
		{method: "POST", path: schedulePath + "/trigger", serve: (*Server).triggerSchedule, scope: settings.ScopeWrite, bodiless: true},
		{method: "POST", path: schedulePath + "/backfill", serve: (*Server).backfillSchedule, scope: settings.ScopeWrite},
		{method: "GET", path: schedulePath + "/preview", serve: (*Server).previewSchedule, scope: settings.ScopeRead, query: []param{previewParam, previewFromParam}},
		{method: "POST", path: schedulesPath + "/preview", serve: (*Server).previewRule, scope: settings.ScopeRead, query: []param{previewParam, previewFromParam, daysParam, absentFromParam, absentUntilParam}},
		// Queues.
		{method: "GET", path: queuesPath, serve: (*Server).listQueues, scope: settings.ScopeRead, weight: admission.Large, query: pageParams},
		{method: "GET", path: queuePath, serve: (*Server).getQueue, scope: settings.ScopeRead},
		{method: "PUT", path: queuePath, serve: (*Server).putQueue, scope: settings.ScopeAdmin},
		{method: "DELETE", path: queuePath, serve: (*Server).deleteQueue, scope: settings.ScopeAdmin, bodiless: true},
		{method: "POST", path: queuePath + "/pause", serve: (*Server).pauseQueue, scope: settings.ScopeAdmin},
		{method: "POST", path: queuePath + "/resume", serve: (*Server).resumeQueue, scope: settings.ScopeAdmin, bodiless: true},
		{method: "POST", path: queuePath + "/purge", serve: (*Server).purgeQueue, scope: settings.ScopeAdmin, bodiless: true, query: []param{expectParam}},
		// Access.
		{method: "GET", path: tokensPath, serve: (*Server).listTokens, scope: settings.ScopeAdmin, weight: admission.Large, query: pageParams},
		{method: "POST", path: tokensPath, serve: (*Server).createToken, scope: settings.ScopeAdmin},
		{method: "DELETE", path: tokensPath + "/{id}", serve: (*Server).revokeToken, scope: settings.ScopeAdmin, bodiless: true, query: []param{childrenParam, forceParam}},
		{method: "GET", path: wire.Version + "/whoami", serve: (*Server).whoami, scope: settings.ScopeRead},
		{method: "GET", path: secretsPath, serve: (*Server).listSecrets, scope: settings.ScopeAdmin},
		{method: "POST", path: secretsPath, serve: (*Server).createSecret, scope: settings.ScopeAdmin},
		{method: "DELETE", path: secretsPath + "/{id}", serve: (*Server).deleteSecret, scope: settings.ScopeAdmin, bodiless: true},
		{method: "GET", path: wire.Version + "/audit", serve: (*Server).audit, scope: settings.ScopeAdmin, weight: admission.Large, query: append(slices.Clone(auditParams), limitParam, cursorParam)},
		// Namespaces.
		{method: "GET", path: namespacesPath, serve: (*Server).listNamespaces, scope: settings.ScopeRead, operator: true, weight: admission.Large, query: pageParams},
		{method: "GET", path: namespacePath, serve: (*Server).getNamespace, scope: settings.ScopeRead, operator: true},
		{method: "PUT", path: namespacePath, serve: (*Server).putNamespace, scope: settings.ScopeAdmin, operator: true},
		{method: "DELETE", path: namespacePath, serve: (*Server).deleteNamespace, scope: settings.ScopeAdmin, bodiless: true, operator: true},
		// The server.
		{method: "GET", path: wire.Version + "/live", serve: (*Server).live, scope: settings.ScopeRead},
		{method: "GET", path: wire.Version + "/egress", serve: (*Server).egress, scope: settings.ScopeRead, operator: true, costly: true, query: []param{{name: "url", about: "The URL that a task would call.", required: true}}},
		{method: "GET", path: wire.Version + "/backup", serve: (*Server).backup, scope: settings.ScopeAdmin, operator: true, costly: true},
		{method: "GET", path: "/metrics", serve: (*Server).metrics, scope: settings.ScopeRead, operator: true, diagnostic: true, weight: admission.Large},
		{method: "GET", path: wire.Version + "/due", serve: (*Server).due, scope: settings.ScopeRead, weight: admission.Large, query: []param{ringsParam, dueUntilParam, stepParam, queueParam, byParam}},
		{method: "GET", path: wire.Version + "/history", serve: (*Server).history, scope: settings.ScopeRead, weight: admission.Large, query: []param{historyFromParam, historyUntilParam, historyStepParam, queueParam}},
		{method: "GET", path: wire.Version + "/attempts", serve: (*Server).attempts, scope: settings.ScopeRead, query: []param{queueParam, outcomeParam, limitParam}},
		{method: "GET", path: clusterPath, serve: (*Server).cluster, scope: settings.ScopeRead, operator: true},
		{method: "GET", path: clusterPath + "/shards", serve: (*Server).listShards, scope: settings.ScopeRead, operator: true, weight: admission.Large},
		{method: "GET", path: clusterPath + "/store", serve: (*Server).examineStore, scope: settings.ScopeRead, operator: true, diagnostic: true},
		{method: "POST", path: nodePath + "/drain", serve: (*Server).drainNode, scope: settings.ScopeAdmin, bodiless: true, operator: true, query: []param{forceNodeParam}},
		{method: "DELETE", path: nodePath + "/drain", serve: (*Server).undrainNode, scope: settings.ScopeAdmin, bodiless: true, operator: true},
		// For any client.
		{method: "GET", path: "/healthz", serve: (*Server).healthz, public: true},
		{method: "GET", path: "/readyz", serve: (*Server).readyz, public: true},
		{method: "GET", path: "/openapi.json", serve: (*Server).document, public: true, weight: admission.Large},
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
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, asked *http.Request) {
			if err := s.serve(w, asked, &r); err != nil {
				s.fail(w, asked, err)
			}
		})
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
		if err := s.checkRate(w, asked, settings.ReadRate, 1); err != nil {
			return err
		}
	}
	if rt.bodiless {
		if err := noBody(asked); err != nil {
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
	return refuse("method_not_allowed", "", "this path supports only "+strings.Join(allow, ", "))
}

// cleanPath reports whether the mux serves the path of r without a redirect,
// because a client may repeat a redirected POST as a GET.
func cleanPath(r *http.Request) bool {
	p := r.URL.Path
	return p == "/" || strings.HasPrefix(p, "/") && path.Clean(p) == strings.TrimSuffix(p, "/")
}
