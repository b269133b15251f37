package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/foliot/foliot/internal/redistest"
)

// Standby starts a server that replicates s under a name, for
// synchronous_standby_names. It has the settings of s. The caller must close it.
func (s *Server) Standby(name string) (*Server, error) {
	b := &Server{bin: s.bin, port: s.port}
	var err error
	if b.dir, err = os.MkdirTemp("", "foliot-pg"); err != nil {
		return nil, err
	}
	for _, setting := range s.settings {
		b.settings = append(b.settings, strings.Replace(setting, "unix_socket_directories="+s.dir, "unix_socket_directories="+b.dir, 1))
	}
	if b.attr, err = Attributes(b.dir); err == nil {
		err = b.Copy(s, name)
	}
	if err != nil {
		_ = os.RemoveAll(b.dir)
		return nil, err
	}
	return b, nil
}

// Copy replaces the data of s, which must not be running, by those of another server,
// and starts s as its standby.
func (s *Server) Copy(primary *Server, name string) error {
	if err := os.RemoveAll(s.data()); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), redistest.Patience)
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "pg_basebackup"), "-D", s.data(), "-d", primary.replication(name), "-R", "--checkpoint=fast", "--no-sync")
	cmd.Dir, cmd.SysProcAttr = s.dir, s.attr
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	return s.Restart()
}

// Follow makes s, which is a standby, replicate another server under a name, or nothing
// if primary is nil.
func (s *Server) Follow(ctx context.Context, primary *Server, name string) error {
	from := ""
	if primary != nil {
		from = primary.replication(name)
	}
	if _, err := Psql(ctx, s.URL(), "ALTER SYSTEM SET primary_conninfo = '"+from+"'"); err != nil { // not in a transaction
		return err
	}
	s.signal(syscall.SIGHUP)
	return nil
}

// replication returns the address of s for a standby.
func (s *Server) replication(name string) string {
	return "postgres://postgres@/postgres?" + url.Values{"host": {s.dir}, "port": {s.port}, "application_name": {name}}.Encode()
}

// Hosts returns an address of several servers. Each client chooses the one that takes
// writes.
func Hosts(all ...*Server) string {
	hosts, ports := make([]string, len(all)), make([]string, len(all))
	for i, s := range all {
		hosts[i], ports[i] = s.dir, s.port
	}
	return "postgres://postgres@/postgres?" + url.Values{"host": {strings.Join(hosts, ",")}, "port": {strings.Join(ports, ",")}, "target_session_attrs": {"read-write"}}.Encode()
}
