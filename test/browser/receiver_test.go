package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// newReceiver returns the URL of a receiver of callbacks. It fails those below
// /fail with a hostile reply.
func newReceiver(t *testing.T) string {
	t.Helper()
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/fail") {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, hostile[0])
		}
	}))
	t.Cleanup(r.Close)
	return r.URL
}
