package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/foliot/foliot/internal/activity"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

var outcomes = []string{"delivered", "failed", "deferred", "refused", "interrupted", "lost_lease"}

// The bounds of the time that a history covers, which has steps of ten seconds.
const minHistory, maxHistory = 10 * time.Second, time.Hour

var (
	outcomeParam = param{name: "outcome", about: "Only attempts with one of these outcomes.", enum: outcomes, repeated: true}
	forParam     = param{name: "for", about: "The time that the history covers, until now; 1h by default, which is the maximum.", format: "duration"}
)

func activityRoutes() []route {
	return []route{
		{
			method: "GET", path: wire.Version + "/history", serve: (*Server).history, scope: settings.ScopeRead, extra: true, tag: "server",
			id: "history", summary: "Show the attempts of the last hour as figures",
			about: "The figures of the server that replies, for each ten seconds: attempts by lateness and by outcome, dead and overdue tasks. A restart clears them.",
			query: []param{forParam}, replies: []reply{{status: 200, about: "The steps, the earliest first.", body: wire.History{}}},
		},
		{
			method: "GET", path: wire.Version + "/attempts", serve: (*Server).attempts, scope: settings.ScopeRead, extra: true, tag: "server",
			id: "listAttempts", summary: "Show recent attempts",
			about: "The last attempts of the server that replies: 1000 that delivered a task, and 1000 others. A restart clears them. The record of a task has all of its last 20.",
			query: []param{queueParam, outcomeParam, limitParam}, replies: []reply{{status: 200, about: "The attempts, the latest first.", body: wire.AttemptList{}}},
		},
	}
}

func (s *Server) history(w http.ResponseWriter, r *request) error {
	if s.cfg.Engine == nil {
		return unsupported("this server has no history")
	}
	span := maxHistory
	if r.query.Has("for") {
		var err error
		if span, err = parseDuration("for", r.query.Get("for")); err != nil {
			return err
		}
		if span < minHistory || span > maxHistory {
			return refuse("out_of_range", "for", "must be between "+minHistory.String()+" and "+maxHistory.String())
		}
	}
	history := s.cfg.Engine.History(r.oneOrAll(), max(s.now().Add(-span), r.since()))
	history.Node = s.nodeName()
	return s.reply(w, r, http.StatusOK, history)
}

func (s *Server) attempts(w http.ResponseWriter, r *request) error {
	if s.cfg.Engine == nil {
		return unsupported("this server has no record of recent attempts")
	}
	f := activity.Filter{Namespace: r.oneOrAll(), Queue: r.query.Get("queue"), Outcomes: r.query["outcome"], Since: r.since()}
	var err error
	if f.Limit, err = limit(r.query); err != nil {
		return err
	}
	if r.query.Has("queue") {
		if err := task.ValidateName("queue", f.Queue); err != nil {
			return err
		}
	}
	for _, word := range f.Outcomes {
		if !slices.Contains(outcomes, word) {
			return notAllowed("bad_parameter", "outcome", outcomes)
		}
	}
	list := s.cfg.Engine.RecentAttempts(f, r.operator)
	for i := range list.Attempts {
		if a := &list.Attempts[i]; r.blindTo(a.Namespace) {
			a.Error = errorWithoutReply(a.Destination, a.Status, a.Error)
		}
	}
	list.Node = s.nodeName()
	return s.reply(w, r, http.StatusOK, list)
}

// oneOrAll returns the namespace of the request, or "" for an operator that
// named none.
func (r *request) oneOrAll() string {
	if r.all {
		return ""
	}
	return r.namespace
}

// nodeName returns the name of this server among those that share the store, or
// "" if the store is embedded.
func (s *Server) nodeName() string {
	if s.nodes == nil {
		return ""
	}
	return s.store.Standing().Node
}
