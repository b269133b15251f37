package pgtest

import (
	"crypto/rand"
	"strings"
	"sync"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

var shared struct {
	mu     sync.Mutex
	owned  bool    // Main.Run will close the server
	server *Server // nil before the first use
}

// Main runs the tests of a package that uses Shared, and then closes the shared
// server. It is for TestMain: goleak.VerifyTestMain(pgtest.Main{M: m}).
type Main struct{ *testing.M }

// Run returns the exit code of the tests.
func (m Main) Run() int {
	shared.mu.Lock()
	shared.owned = true
	shared.mu.Unlock()
	code := m.M.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server != nil {
		shared.server.Close()
	}
	return code
}

// Shared returns the server that all tests of a package share, and starts it at
// the first call. A test must not pause or end it.
func Shared(t testing.TB) *Server {
	t.Helper()
	Need(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.owned {
		t.Fatal("only Main closes the shared server: use it in TestMain")
	}
	if shared.server == nil {
		s, err := Start()
		fatal.If(t, err)
		shared.server = s
	}
	shared.server.explain(t)
	return shared.server
}

// Schema creates an empty schema and returns its name. The schema remains until
// the server is closed, because dropping it could wait for a lock of a failed
// test.
func (s *Server) Schema(t testing.TB) string {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	_, err := Psql(t.Context(), s.URL(), "CREATE SCHEMA "+name)
	fatal.If(t, err)
	return name
}
