package api

import (
	"net/http"
	"slices"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

func (s *Server) listNamespaces(w http.ResponseWriter, r *request) error {
	names := []string{task.DefaultNamespace}
	for _, setting := range r.settings.List(settings.NamespaceKind, "") {
		names = append(names, setting.Key().Name)
	}
	slices.Sort(names)
	part, next, err := pageOf(r.query, slices.Compact(names), func(name string) string { return name })
	if err != nil {
		return err
	}
	counts, err := s.totals(r)
	if err != nil {
		return err
	}
	return s.writeItems(w, "namespaces", len(part), func(i int) any { return showNamespace(r.settings.Namespace(part[i]), counts[part[i]]) }, next)
}

// holdings is the content of a namespace.
type holdings struct {
	task.Counts // the counts of its tasks
	schedules   int64
}

func (s *Server) totals(r *request) (map[string]holdings, error) {
	queues, err := s.store.Counts(r.Context())
	if err != nil {
		return nil, err
	}
	totals := map[string]holdings{}
	for key, c := range queues {
		sum := totals[key.Namespace]
		if key.Queue == task.ScheduleQueue {
			sum.schedules = c.States[task.Scheduled]
		} else {
			sum.Add(c)
		}
		totals[key.Namespace] = sum
	}
	return totals, nil
}

func (s *Server) getNamespace(w http.ResponseWriter, r *request) error {
	name, err := r.namespaceName()
	if err != nil {
		return err
	}
	n := r.settings.Namespace(name)
	if n == nil {
		return &settings.MissingError{What: "namespace", Name: name}
	}
	return s.replyNamespace(w, r, http.StatusOK, n)
}

func (r *request) namespaceName() (string, error) {
	name := r.PathValue("name")
	return name, task.ValidateName("namespace", name)
}

func (s *Server) putNamespace(w http.ResponseWriter, r *request) error {
	name, cond, err := conditional(r, r.namespaceName)
	if err != nil {
		return err
	}
	e := settings.PutNamespace{Settings: settings.NamespaceSettings{Name: name}, If: cond}
	if err := s.readSetting(w, r, func(rd *reader) error { return rd.decodeNamespace(&e.Settings, &e.Owner) }); err != nil {
		return err
	}
	changes, err := s.configure(w, r, "namespace", e)
	if err != nil {
		return err
	}
	made := changes[0].Value.(*settings.NamespaceSettings) // a put always returns it
	return s.replyNamespace(w, r, putStatus(w, namespacesPath, made.Name, made.Version), made)
}

func (s *Server) deleteNamespace(w http.ResponseWriter, r *request) error {
	name, cond, err := conditional(r, r.namespaceName)
	if err != nil {
		return err
	}
	n := r.settings.Namespace(name)
	if n == nil { // or the namespace was created just now
		n = &settings.NamespaceSettings{Name: name}
	}
	if _, err := s.configure(w, r, "namespace", settings.DropNamespace{Name: name, If: cond}); err != nil {
		return err
	}
	shown := showNamespace(n, holdings{})
	shown.Unconfirmed = r.unconfirmed
	return s.replySetting(w, r, http.StatusOK, 0, "", shown)
}

func (s *Server) replyNamespace(w http.ResponseWriter, r *request, status int, n *settings.NamespaceSettings) error {
	totals, err := s.totals(r)
	if err != nil {
		return err
	}
	shown := showNamespace(n, totals[n.Name])
	shown.Unconfirmed = r.unconfirmed
	return s.replySetting(w, r, status, n.Version, n.ETag(), shown)
}
