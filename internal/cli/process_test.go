package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/wire"
)

// process is a foliot server in its own process, or in that of the test.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd // nil in the process of the test
	stop   func()    // interrupts a server in the process of the test
	ended  chan int  // and then has its exit code
	url    string
	stderr *bufio.Reader
	log    strings.Builder // read from stderr so far
}

// serveHere is serveProcess without another process. It is for tests that send
// no other signal than SIGINT or SIGTERM, and do not depend on a crash.
func serveHere(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	p := &process{t: t, stop: stop, ended: make(chan int, 1)}
	t.Cleanup(p.kill) // after the pipes are closed, so that no full pipe holds up the server
	stdout, outW := pipe(t)
	stderr, errW := pipe(t) // unlike an io.Pipe, it has room for a log that nobody reads
	p.stderr = bufio.NewReader(stderr)
	go func() {
		code := run(ctx, append([]string{"serve", "-o", "json"}, args...), strings.NewReader(""), outW, errW)
		outW.Close()
		errW.Close()
		p.ended <- code
	}()
	p.readURL(stdout)
	return p
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	fatal.If(t, err)
	t.Cleanup(func() { r.Close() })
	return r, w
}

// serveProcess starts a server and waits until it prints its address.
func serveProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: foliotCommand(t, append([]string{"serve", "-o", "json"}, args...)...)}
	p.start()
	return p
}

func (p *process) start() {
	p.t.Helper()
	stdout, err := p.cmd.StdoutPipe()
	fatal.If(p.t, err)
	stderr, err := p.cmd.StderrPipe()
	fatal.If(p.t, err)
	p.stderr = bufio.NewReader(stderr)
	fatal.If(p.t, p.cmd.Start())
	p.t.Cleanup(p.kill)
	p.readURL(stdout)
}

func (p *process) readURL(stdout io.Reader) {
	p.t.Helper()
	var reply serveReply
	if err := json.NewDecoder(stdout).Decode(&reply); err != nil {
		log, _ := io.ReadAll(p.stderr)
		p.t.Fatalf("the server did not start: %v\n%s", err, log)
	}
	p.url = reply.URL
}

// foliotCommand returns a command that runs this test binary as foliot.
func foliotCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	fatal.If(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asBinary+"=1", "GOGC=")
	return cmd
}

// await reads the log up to a line that contains text.
func (p *process) await(text string) {
	p.t.Helper()
	for {
		line, err := p.stderr.ReadString('\n')
		p.log.WriteString(line)
		if strings.Contains(line, text) {
			return
		}
		if err != nil {
			p.t.Fatalf("the server's log ended without %q:\n%s", text, p.log.String())
		}
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if p.cmd == nil {
		p.stop()
		return
	}
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("send %v: %v", s, err)
	}
}

// exit waits for the end of the process. It returns the exit code and the log.
func (p *process) exit() (code int, log string) {
	p.t.Helper()
	if p.cmd == nil {
		rest, _ := io.ReadAll(p.stderr)
		code = <-p.ended
		p.ended <- code // for kill
		return code, p.log.String() + string(rest)
	}
	late := time.AfterFunc(servertest.Patience, p.killNow)
	defer late.Stop()
	rest, _ := io.ReadAll(p.stderr) // an error ends the log
	err := p.cmd.Wait()
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode(), p.log.String() + string(rest)
}

func (p *process) killNow() { _ = p.cmd.Process.Kill() } // an error means that it has ended

// kill kills the process, so that it cannot shut down in an orderly way. A
// server in the process of the test is only stopped.
func (p *process) kill() {
	if p.cmd == nil {
		p.stop()
		p.ended <- <-p.ended
		return
	}
	if p.cmd.ProcessState == nil {
		p.killNow()
		_ = p.cmd.Wait() // returns "signal: killed"
	}
}

// foliot runs a client command against the server, in this process.
func (p *process) foliot(args ...string) (stdout, stderr string, code int) {
	p.t.Helper()
	s := &session{t: p.t, server: p.url}
	return s.run("", args...)
}

// must runs a client command that must succeed.
func (p *process) must(args ...string) string {
	p.t.Helper()
	stdout, stderr, code := p.foliot(args...)
	if code != exit.OK {
		p.t.Fatalf("foliot %v ended with %d: %s", args, code, stderr)
	}
	return stdout
}

// task returns a task from the server.
func (p *process) task(name string) (t wire.Task) {
	p.t.Helper()
	fatal.If(p.t, json.Unmarshal([]byte(p.must("get", name, "-o", "json")), &t))
	return t
}

var terminate os.Signal = syscall.SIGTERM
