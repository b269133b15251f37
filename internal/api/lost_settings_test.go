package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
)

// forgetful is a store that loses its content.
type forgetful struct {
	Store
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

// secured returns a store with an operator's token, and the token.
func secured(t *testing.T) (*forgetful, string) {
	t.Helper()
	store := memstore.New(memstore.Config{})
	token, hash := settings.MintToken()
	replies, err := store.Configure(t.Context(), 1, []settings.Edit{
		settings.AddToken{Namespace: settings.AllNamespaces, Scope: settings.ScopeAdmin, Hash: hash},
		settings.PauseQueue{Namespace: task.DefaultNamespace, Name: "q", Paused: true},
	})
	if err != nil || replies[0].Err != nil || replies[1].Err != nil {
		t.Fatal(replies, err)
	}
	return &forgetful{Store: store}, token
}

// withoutTokens returns the settings without tokens.
func withoutTokens(s *settings.Settings) *settings.Settings {
	return settings.NewSettings(s.List(settings.QueueKind, "")...)
}

// every calls each route that is not public, with and without a token. It
// returns the statuses.
func every(s *Server, token string) map[int]string {
	seen := map[int]string{}
	for _, rt := range routes() {
		for _, shown := range []string{"", token} {
			if rt.public || rt.diagnostic && shown != "" {
				continue
			}
			path := strings.NewReplacer("{name}", "x", "{id}", "x", "{instant}", "x", "{node}", "x", "{namespace}", "x").Replace(rt.path)
			r := httptest.NewRequest(rt.method, "http://localhost"+path, strings.NewReader("{}"))
			r.Header.Set("Content-Type", "application/json")
			if shown != "" {
				r.Header.Set("Authorization", "Bearer "+shown)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			seen[w.Code] += fmt.Sprintf("%s %s (token: %v) %s\n", rt.method, path, shown != "", w.Body)
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
			f, token := secured(t)
			s := New(Config{Metrics: http.NotFoundHandler()}, f) // no request arrives before the loss
			c.lose(f)
			for status, which := range every(s, token) {
				if status != 503 && (status != 401 || !strings.Contains(which, "/metrics")) || strings.Contains(which, "192.0.2.1") {
					t.Errorf("status %d:\n%s", status, which)
				}
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/readyz", http.NoBody))
			if text := w.Body.String(); w.Code != 503 || !strings.Contains(text, `"`+c.code+`"`) || !strings.Contains(text, "foliot redis accept-loss") {
				t.Errorf("/readyz: %d %s", w.Code, text)
			}
			f.settings.Store(nil)
			f.why.Store(nil)
			if seen := every(s, token); seen[200] == "" || strings.Contains(seen[200], "(token: false)") {
				t.Errorf("with the data back it must serve requests with a token: %v", seen)
			}
		})
	}
}

func TestAServerThatWasNeverSecuredStaysOpen(t *testing.T) {
	s := New(Config{}, memstore.New(memstore.Config{}))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/v1/tasks", http.NoBody))
	if w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
