// Package server runs the PostgreSQL of the comparison.
package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
)

// ErrMissing means that no PostgreSQL is installed.
var ErrMissing = errors.New("PostgreSQL is not installed (Debian: apt-get install postgresql)")

// Postgres is a cluster in a new directory, with a server on loopback.
type Postgres struct {
	bin, dir, options string
	as                *syscall.Credential // nil: the user of this process

	URL string // of a database, which is empty at first
}

// StartPostgres makes a cluster and starts its server. PostgreSQL refuses to
// run as root. So if this process is root, the user postgres runs the server.
// Errors: ErrMissing.
func StartPostgres(ctx context.Context) (*Postgres, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	p := &Postgres{bin: bin}
	if p.as, err = unprivileged(); err != nil {
		return nil, err
	}
	if p.dir, err = os.MkdirTemp("", "foliot-bench-postgres-"); err != nil {
		return nil, fmt.Errorf("make the directory of PostgreSQL: %w", err)
	}
	if err := p.initialize(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	if err := p.control(ctx, "start"); err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	return p, nil
}

// binaries returns the folder of initdb: Debian does not link it into PATH.
func binaries() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", ErrMissing
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// unprivileged returns the user that runs the server if this process is root,
// and otherwise nil.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("find a user for PostgreSQL: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// initialize makes the cluster, and chooses its port and password.
func (p *Postgres) initialize(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a port for PostgreSQL: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close() // only its port is needed
	password, secret := rand.Text(), filepath.Join(p.dir, "password")
	p.URL = fmt.Sprintf("postgres://bench:%s@127.0.0.1:%d/postgres", password, port)
	// None of these settings changes the durability of a commit.
	p.options = fmt.Sprintf("-p %d -c unix_socket_directories=%s -c listen_addresses=127.0.0.1 -c max_connections=100", port, p.dir)
	if err := os.WriteFile(secret, []byte(password), 0o600); err != nil {
		return err
	}
	if p.as != nil {
		uid, gid := int(p.as.Uid), int(p.as.Gid)
		if err := errors.Join(os.Chown(secret, uid, gid), os.Chown(p.dir, uid, gid)); err != nil {
			return err
		}
	}
	return p.run(ctx, "initdb", "-D", p.data(), "-U", "bench", "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8", "--locale", "C")
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

// control runs pg_ctl, which waits for the server.
func (p *Postgres) control(ctx context.Context, args ...string) error {
	return p.run(ctx, "pg_ctl", append([]string{"-D", p.data(), "-l", filepath.Join(p.dir, "log"), "-o", p.options, "-w", "-t", "30"}, args...)...)
}

// run runs a program of PostgreSQL. The server keeps its output open, so that
// goes to a file.
func (p *Postgres) run(ctx context.Context, name string, args ...string) error {
	out, err := os.Create(filepath.Join(p.dir, "output"))
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w: %s", name, err, text)
	}
	return nil
}

// PID returns the process id of the server, or 0 if it does not run.
func (p *Postgres) PID() int {
	text, _ := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
	line, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(line)
	return pid
}

// query returns the only value of a query.
func (p *Postgres) query(ctx context.Context, statement string) (value string, err error) {
	c, err := pgx.Connect(ctx, p.URL)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close(ctx) }()
	err = c.QueryRow(ctx, statement).Scan(&value)
	return value, err
}

// Size returns the bytes of the table of tasks, or of jobs, with its indexes.
func (p *Postgres) Size(ctx context.Context) (float64, error) {
	text, err := p.query(ctx, "SELECT pg_total_relation_size(coalesce(to_regclass('task'), to_regclass('river_job'), to_regclass('graphile_worker._private_jobs')))::text")
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(text, 64)
}

// Version returns the version of the server, or "".
func (p *Postgres) Version(ctx context.Context) string {
	version, _ := p.query(ctx, "SELECT current_setting('server_version')")
	return version
}

// Crash ends the server without a checkpoint, and starts it again with its
// data.
func (p *Postgres) Crash(ctx context.Context) error {
	if err := p.control(ctx, "-m", "immediate", "stop"); err != nil {
		return err
	}
	return p.control(ctx, "start")
}

// Close stops the server and removes the cluster.
func (p *Postgres) Close() error {
	return errors.Join(p.control(context.Background(), "-m", "fast", "stop"), os.RemoveAll(p.dir))
}
