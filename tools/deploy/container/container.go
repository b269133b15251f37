// Package container runs programs as in a container: in a separate root
// directory, as a user without rights, with the variables and files that a
// cluster or Docker would provide. The tests must run as root.
package container

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// User is the user and the group of the image.
const User = 65532

// Container is a root directory, and the variables of its programs.
type Container struct {
	t    *testing.T
	Root string
	Env  []string
	User uint32
}

// New returns a container with the program as /usr/bin/foliot and the variables
// of the image. hosts is its file /etc/hosts.
func New(t *testing.T, hosts string) *Container {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can change to another root directory and user")
	}
	c := &Container{t: t, Root: t.TempDir(), User: User, Env: []string{"PATH=/usr/bin", "FOLIOT_DATA=/var/lib/foliot/data"}}
	text, err := os.ReadFile(Foliot(t))
	Must(t, err)
	Must(t, os.Chmod(c.Root, 0o755))
	c.Write("/usr/bin/foliot", string(text), 0o755, 0, 0)
	c.Write("/etc/hosts", hosts, 0o644, 0, 0)
	return c
}

// Write writes a file that belongs to a user and to a group.
func (c *Container) Write(path, text string, mode fs.FileMode, user, group int) {
	c.t.Helper()
	path = filepath.Join(c.Root, path)
	Must(c.t, os.MkdirAll(filepath.Dir(path), 0o755))
	Must(c.t, os.WriteFile(path, []byte(text), 0o600))
	Must(c.t, errors.Join(os.Chown(path, user, group), os.Chmod(path, mode)))
}

// Directory makes a directory that belongs to a user and to a group.
func (c *Container) Directory(path string, mode fs.FileMode, user, group int) {
	c.t.Helper()
	path = filepath.Join(c.Root, path)
	Must(c.t, os.MkdirAll(path, 0o755))
	Must(c.t, errors.Join(os.Chown(path, user, group), os.Chmod(path, mode)))
}

// Command returns a command in the container.
func (c *Container) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Dir = c.Env, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.Root, Credential: &syscall.Credential{Uid: c.User, Gid: c.User}, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Start starts the server with its arguments. The probes are commands: Start
// waits until each has succeeded.
func (c *Container) Start(args []string, probes ...[]string) *exec.Cmd {
	c.t.Helper()
	cmd := c.Command(append([]string{"/usr/bin/foliot"}, args...)...)
	log := Start(c.t, cmd)
	for _, probe := range probes {
		Wait(c.t, log, func() error {
			out, err := c.Command(probe...).CombinedOutput()
			if err != nil {
				return errors.New(string(out))
			}
			return nil
		})
	}
	return cmd
}

// Foliot runs a command of foliot, and returns its output.
func (c *Container) Foliot(args ...string) string {
	c.t.Helper()
	out, err := c.Command(append([]string{"/usr/bin/foliot"}, args...)...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("foliot %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Log is the output of a process.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the log so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Start starts a process that ends with the test, and returns its log.
func Start(t *testing.T, cmd *exec.Cmd) *Log {
	t.Helper()
	log := new(Log)
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	}
	Must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return log
}

// Stop ends a server as a cluster does.
func Stop(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	Must(t, cmd.Process.Signal(syscall.SIGTERM))
	Must(t, cmd.Wait())
}

// Wait repeats ready until it returns no error, for 20 seconds at most.
func Wait(t *testing.T, log *Log, ready func() error) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		err := ready()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v\n%s", err, log)
		}
		<-time.After(10 * time.Millisecond) // no event reports that another process is ready
	}
}

// Must ends the test if there is an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var (
	built string
	build sync.Once
)

// Foliot returns the path of the static program, which it builds once.
func Foliot(t *testing.T) string {
	t.Helper()
	build.Do(func() {
		dir, err := os.MkdirTemp("", "foliot-deploy-test-")
		Must(t, err)
		built = filepath.Join(dir, "foliot")
		Must(t, os.Chmod(dir, 0o755))
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", built, "./cmd/foliot")
		cmd.Dir, cmd.Env = "../../..", append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
	return built
}

// RunTests runs the tests of a package and removes the program.
func RunTests(m *testing.M) int {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(filepath.Dir(built))
	}
	return code
}

// Output returns the output of a program.
func Output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var errs bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, errs.String())
	}
	return string(out)
}

// Answers returns a check for Wait: it returns nil if addr accepts TCP
// connections.
func Answers(addr string) func() error {
	return func() error {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err
	}
}

// Postgres starts a PostgreSQL at host:port. Its superuser foliot has the password.
// It runs as the user postgres of this machine, because PostgreSQL refuses root and
// unknown users.
func Postgres(t *testing.T, host, port, password string) {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	as, err := user.Lookup("postgres")
	if len(found) == 0 || err != nil {
		t.Skip("PostgreSQL is not installed")
	}
	uid, err := strconv.Atoi(as.Uid)
	Must(t, err)
	dir, err := os.MkdirTemp("", "foliot-deploy-test-") // the parent of t.TempDir is closed to other users
	Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "password")
	Must(t, errors.Join(os.WriteFile(file, []byte(password), 0o600), os.Chown(file, uid, uid), os.Chown(dir, uid, uid)))
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(found[len(found)-1], name), args...)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}, Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := run("initdb", "-D", data, "-U", "foliot", "--pwfile", file, "-A", "scram-sha-256", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	log := Start(t, run("postgres", "-D", data, "-k", dir, "-h", host, "-p", port))
	Wait(t, log, func() error {
		cmd := run("psql", "-h", host, "-p", port, "-U", "foliot", "-d", "postgres", "-c", "CREATE DATABASE foliot")
		cmd.Env = append(os.Environ(), "PGPASSWORD="+password)
		if out, err := cmd.CombinedOutput(); err != nil {
			return errors.New(string(out))
		}
		return nil
	})
}
