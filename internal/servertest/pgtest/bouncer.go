package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
)

// RequireBouncerEnv is RequireEnv for PgBouncer.
const RequireBouncerEnv = "FOLIOT_REQUIRE_PGBOUNCER"

// Debian puts it where only root searches.
func bouncerBinary() string {
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// NeedBouncer skips the test if no PgBouncer is installed.
func NeedBouncer(t testing.TB) {
	t.Helper()
	Need(t)
	const missing = "there is no PgBouncer: install it (Debian: apt-get install pgbouncer)"
	switch {
	case bouncerBinary() != "":
	case os.Getenv(RequireBouncerEnv) != "":
		t.Fatalf("%s is set and %s", RequireBouncerEnv, missing)
	default:
		t.Skip(missing)
	}
}

// Bouncer starts a PgBouncer in transaction mode in front of s until the test ends,
// and returns the address of the database postgres through it. Like most poolers it
// refuses search_path and options in a URL. Every role can connect.
func (s *Server) Bouncer(t testing.TB) string {
	t.Helper()
	NeedBouncer(t)
	dir, err := os.MkdirTemp("", "foliot-pb")
	fatal.If(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config := fmt.Sprintf(`[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = %s
auth_type = trust
auth_file = %[3]s/users
auth_user = postgres
pool_mode = transaction
max_client_conn = 1000
max_db_connections = 60
server_idle_timeout = 2
`, s.dir, s.port, dir)
	fatal.If(t, os.WriteFile(filepath.Join(dir, "ini"), []byte(config), 0o644))            //nolint:gosec // PgBouncer reads it as another user
	fatal.If(t, os.WriteFile(filepath.Join(dir, "users"), []byte(`"postgres" ""`), 0o644)) //nolint:gosec // also
	attr, err := Attributes(dir)
	fatal.If(t, err)
	log, err := os.Create(filepath.Join(dir, "log")) //nolint:gosec // a directory of the test
	fatal.If(t, err)
	defer func() { _ = log.Close() }()
	cmd := exec.Command(bouncerBinary(), filepath.Join(dir, "ini")) //nolint:gosec // the test's own
	cmd.Dir, cmd.SysProcAttr, cmd.Stderr = dir, attr, log
	fatal.If(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // its log contains the reason for its end
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // ends at once
		<-ended
		if t.Failed() {
			data, _ := os.ReadFile(log.Name())
			t.Logf("the end of the log of PgBouncer:\n%s", data[max(0, len(data)-2000):])
		}
	})
	at := "postgres://postgres@/postgres?" + url.Values{"host": {dir}, "port": {"6432"}}.Encode()
	ctx, stop := context.WithTimeout(t.Context(), redistest.Patience)
	defer stop()
	fatal.If(t, redistest.Poll(ctx, func(ctx context.Context) error {
		_, err := Psql(ctx, at, "SELECT 1")
		return err
	}))
	return at
}
