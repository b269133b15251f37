package admin

import (
	"net/http"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/page"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// Access is the set of rights of a request, which apply to all namespaces of
// the store.
type Access int

// The rights, each with those before it.
const (
	None  Access = iota // the request is refused with status 401
	Read                // the request may read tasks, queues and schedules, with their arguments
	Write               // it may create and change tasks and schedules
	Admin               // it may change queues, namespaces and tokens, read the audit log, and copy the store
)

// Server is an http.Handler for the whole API and the web page of a Node.
type Server struct {
	api  *api.Server
	stop func()
}

// New returns a Server for n, which can have several, for example with different
// rights on different paths.
//
// allow returns the rights of a request, for example from the session of its
// user. It is called on the goroutine of the request, and again during long
// requests. Several goroutines call it at the same time. It must check a
// secret, such as a cookie or a header, and never the address of the client
// alone: a page of another site can make a browser of that client send
// requests. If allow is nil, all requests are refused. Only the health routes,
// the OpenAPI document, the documentation and the files of the page need no
// rights. Access tokens of the store have no effect here.
//
// Tasks with a URL wait, unless the Node has Options.URLs. With it, an Access that
// may create tasks makes this program send requests, to each address that URLs
// opens.
func New(n *foliot.Node, allow func(*http.Request) Access) *Server {
	core := engine.Of(n)
	server := api.New(api.Config{
		Authorize: func(r *http.Request) *settings.AccessToken { return tokenOf(allow, r) },
		Engine:    core,
		BodyLimit: task.MaxBody, // as the Node
		Page:      page.Handler(),
		Version:   buildinfo.Version(),
		Now:       core.Latest,
		Trusted:   core.Trusted,
		Log:       core.Log(),
	}, core.Store)
	return &Server{server, core.Listen(func(e engine.Event) { server.Notify(e.Changed...) })}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.api.ServeHTTP(w, r) }

// Close ends the requests that wait for the end of a task, with the state that it
// has. Call it before http.Server.Shutdown, which would wait for them, and when
// the program needs the Server no longer but goes on with the Node. Other
// requests are still served. Close can be called again.
func (s *Server) Close() {
	s.stop()
	s.api.Stop()
}

// tokenOf returns the rights of a request as an access token, or nil if the
// request has no rights.
func tokenOf(allow func(*http.Request) Access, r *http.Request) *settings.AccessToken {
	if allow == nil {
		return nil
	}
	scope := map[Access]settings.Scope{Read: settings.ScopeRead, Write: settings.ScopeWrite, Admin: settings.ScopeAdmin}[allow(r)]
	if !scope.Valid() {
		return nil
	}
	return &settings.AccessToken{ID: "program", Namespace: settings.AllNamespaces, Scope: scope}
}
