// Package server runs the PostgreSQL of the comparison, and measures the
// resources that a server uses.
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
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMissing means that no PostgreSQL is installed.
var ErrMissing = errors.New("PostgreSQL is not installed (Debian: apt-get install postgresql)")

// arguments are the settings that differ from those of initdb. None of them
// changes the durability of a commit.
var arguments = []string{"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=100"}

// Postgres is a cluster in a new directory, with a server on loopback.
type Postgres struct {
	bin, dir, password string
	port               int
	as                 *syscall.Credential // nil: the user of this process
	cmd                *exec.Cmd
	done               chan struct{} // closed when cmd has ended
}

// StartPostgres makes a cluster and starts its server. PostgreSQL refuses to
// run as root. So if this process is root, the user postgres runs the server.
// Errors: ErrMissing.
func StartPostgres(ctx context.Context) (*Postgres, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	p := &Postgres{bin: bin, password: rand.Text()}
	if p.as, err = unprivileged(); err != nil {
		return nil, err
	}
	if p.dir, err = os.MkdirTemp("", "foliot-bench-postgres-"); err != nil {
		return nil, fmt.Errorf("make the directory of PostgreSQL: %w", err)
	}
	if err := errors.Join(p.initialize(ctx), p.start(ctx)); err != nil {
		return nil, errors.Join(err, p.Close())
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
		u, err = user.Lookup("nobody")
	}
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

func (p *Postgres) initialize(ctx context.Context) error {
	secret := filepath.Join(p.dir, "password")
	if err := os.WriteFile(secret, []byte(p.password), 0o600); err != nil {
		return err
	}
	if p.as != nil {
		uid, gid := int(p.as.Uid), int(p.as.Gid)
		if err := errors.Join(os.Chown(secret, uid, gid), os.Chown(p.dir, uid, gid)); err != nil {
			return err
		}
	}
	out, err := p.command(ctx, "initdb", "-D", p.data(), "-U", "bench", "-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8", "--locale", "C").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *Postgres) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = p.dir, attributes(p.as)
	return cmd
}

// start starts the server and waits until it accepts connections.
func (p *Postgres) start(ctx context.Context) error {
	if p.port == 0 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("find a port for PostgreSQL: %w", err)
		}
		p.port = l.Addr().(*net.TCPAddr).Port
		_ = l.Close() // only its port is needed
	}
	args := append([]string{"-D", p.data(), "-p", strconv.Itoa(p.port), "-c", "unix_socket_directories=" + p.dir}, arguments...)
	p.cmd = p.command(context.WithoutCancel(ctx), "postgres", args...)
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		defer close(done)
		_ = cmd.Wait() // the exit status does not matter
	}(p.cmd, p.done)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := p.exec(ctx, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("PostgreSQL ended: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL did not start: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// PID returns the process id of the server.
func (p *Postgres) PID() int { return p.cmd.Process.Pid }

func (p *Postgres) url(name string) string {
	return fmt.Sprintf("postgres://bench:%s@127.0.0.1:%d/%s", p.password, p.port, name)
}

func (p *Postgres) exec(ctx context.Context, statement string) error {
	c, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	_, err = c.Exec(ctx, statement)
	return err
}

// Empty returns the URL of a new database.
func (p *Postgres) Empty(ctx context.Context) (string, error) {
	if err := p.exec(ctx, "CREATE DATABASE "+database); err != nil {
		return "", fmt.Errorf("make the database: %w", err)
	}
	return p.url(database), nil
}

const database = "bench1"

// Size returns the bytes of the job table with its indexes.
func (p *Postgres) Size(ctx context.Context) (float64, error) {
	c, err := pgx.Connect(ctx, p.url(database))
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close(ctx) }()
	var bytes int64
	err = c.QueryRow(ctx, "SELECT pg_total_relation_size('river_job')").Scan(&bytes)
	return float64(bytes), err
}

// Version returns the version of the server, or "unknown".
func (p *Postgres) Version(ctx context.Context) string {
	c, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		return "unknown"
	}
	defer func() { _ = c.Close(ctx) }()
	var version string
	if err := c.QueryRow(ctx, "SELECT current_setting('server_version')").Scan(&version); err != nil {
		return "unknown"
	}
	return version
}

// Crash ends the server without a checkpoint, and starts it again with its
// data.
func (p *Postgres) Crash(ctx context.Context) error {
	if err := p.end(syscall.SIGQUIT); err != nil {
		return err
	}
	return p.start(ctx)
}

// end ends the server: SIGINT ends its connections and writes a checkpoint,
// SIGQUIT ends it at once.
func (p *Postgres) end(s syscall.Signal) error {
	if p.cmd == nil || p.done == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(s) // it may have ended
	select {
	case <-p.done:
		return nil
	case <-time.After(20 * time.Second):
	}
	_ = p.cmd.Process.Kill() // it may have just ended
	<-p.done
	return errors.New("PostgreSQL did not end and was killed")
}

// Close stops the server and removes the cluster.
func (p *Postgres) Close() error { return errors.Join(p.end(syscall.SIGINT), os.RemoveAll(p.dir)) }
