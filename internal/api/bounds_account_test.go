package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/foliot/foliot/internal/api/admission"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/task"
)

// A namespace that uses all of its units, the default one included, does not keep
// out operators that watch the server or suspend it, nor health checks.
func TestOperatorsAreServedWhileANamespaceUsesAllOfItsUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}, memstore.New(memstore.Config{}))
		for _, namespace := range []string{task.DefaultNamespace, strangers} {
			for range 32 {
				if _, err := s.gate.Enter(t.Context(), namespace, admission.Read); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, c := range []struct {
			method, path, namespace string
			status                  int
		}{
			{"GET", "/v1/tasks", task.DefaultNamespace, 429},
			{"GET", "/metrics", "", 200},
			{"GET", "/metrics", task.DefaultNamespace, 200},
			{"GET", "/v1/namespaces", "", 200},
			{"PUT", "/v1/namespaces/default", task.DefaultNamespace, 201},
			{"GET", "/v1/tokens", "", 200},
			{"GET", "/healthz", "", 200},
			{"GET", "/openapi.json", "", 429},
		} {
			r := httptest.NewRequest(c.method, "http://localhost"+c.path, http.NoBody)
			if c.method == "PUT" {
				r = httptest.NewRequest(c.method, "http://localhost"+c.path, strings.NewReader("{}"))
				r.Header.Set("Content-Type", "application/json")
			}
			if c.namespace != "" {
				r.Header.Set("Foliot-Namespace", c.namespace)
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("%s %s: status %d, not %d: %s", c.method, c.path, w.Code, c.status, w.Body)
			}
		}
	})
}
