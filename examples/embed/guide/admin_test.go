package guide

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
)

func TestOnlyOperatorsSeeTheTimers(t *testing.T) {
	mux := http.NewServeMux()
	serveOperators(mux, foliottest.Start(t, new(foliot.Mux)), func(r *http.Request) bool { return r.Header.Get("Cookie") == "operator" })
	for cookie, want := range map[string]int{"operator": http.StatusOK, "": http.StatusUnauthorized} {
		r := httptest.NewRequest("GET", "/timers/v1/tasks", nil)
		r.Header.Set("Cookie", cookie)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("a request with the cookie %q: %d, want %d: %s", cookie, w.Code, want, w.Body)
		}
	}
}
