package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
)

// forgetful is a store that loses its content.
type forgetful struct {
	*memstore.Store
	settings atomic.Pointer[settings.Settings] // nil means the settings of the store
	why      atomic.Pointer[error]
}

func (f *forgetful) Standing() store.Standing {
	st := f.Store.Standing()
	if s := f.settings.Load(); s != nil {
		st.Settings = s
	}
	if why := f.why.Load(); why != nil {
		st.Err = *why
	}
	return st
}

// withoutTokens returns the settings without tokens.
func withoutTokens(s *settings.Settings) *settings.Settings {
	return settings.NewSettings(s.List(settings.QueueKind, "")...)
}

// every calls each route that is not public, with and without a token. It
// returns the statuses.
func (s *service) every(token string) map[int]string {
	seen := map[int]string{}
	for route, scope := range access {
		for _, headers := range [][]string{nil, {token}} {
			if scope == "" || (route == "GET /metrics" || route == "GET /v1/cluster/store") && headers != nil { // served while the store is closed
				continue
			}
			method, path, _ := strings.Cut(route, " ")
			r := s.do(method, inPath.ReplaceAllString(path, "x"), "{}", headers...)
			seen[r.status] += fmt.Sprintf("%s (token: %v) %s\n", route, headers != nil, r.body)
		}
	}
	return seen
}

func TestAServerThatWasSecuredStaysClosedWhenItsSettingsAreLost(t *testing.T) {
	replaced := fmt.Errorf("at 192.0.2.1: %w", task.ErrStoreReplaced)
	for name, c := range map[string]struct {
		lose func(*forgetful)
		code string
	}{
		"no settings at all":        {func(f *forgetful) { f.settings.Store(settings.NewSettings()) }, "settings_lost"},
		"the tokens alone are gone": {func(f *forgetful) { f.settings.Store(withoutTokens(f.Store.Standing().Settings)) }, "settings_lost"},
		"another store":             {func(f *forgetful) { f.why.Store(&replaced) }, "store_replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			token := s.token(settings.AllNamespaces, settings.ScopeAdmin)
			s.configure(settings.PauseQueue{Namespace: task.DefaultNamespace, Name: "q", Paused: true})
			f := &forgetful{Store: s.store}
			s.Server = api.New(api.Config{Metrics: http.NotFoundHandler()}, f) // no request arrives before the loss
			c.lose(f)
			for status, which := range s.every(token) {
				if status != 503 && (status != 401 || !strings.Contains(which, "/metrics")) || strings.Contains(which, "192.0.2.1") {
					t.Errorf("status %d:\n%s", status, which)
				}
			}
			if p := s.do("GET", "/readyz", "").problem(503, c.code, ""); !strings.Contains(p.Detail, "foliot redis accept-loss") {
				t.Errorf("/readyz: %s", p.Detail)
			}
			f.settings.Store(nil)
			f.why.Store(nil)
			if seen := s.every(token); seen[200] == "" || strings.Contains(seen[200], "(token: false)") {
				t.Errorf("with the data back it must serve requests with a token: %v", seen)
			}
		})
	}
}
