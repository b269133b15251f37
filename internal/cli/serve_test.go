package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/wire"
)

const anyPort = "127.0.0.1:0"

func TestServePrintsItsAddressItsDataAndACommandToTry(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, c := range []struct {
		args []string
		data string
	}{
		{[]string{"--data", dir}, "tasks in " + dir},
		{[]string{"--store", dir}, "tasks in " + dir},
		{[]string{"--store", "memory:"}, "tasks in memory: they are lost when the server stops"},
	} {
		b := start(t, append([]string{"serve", "--listen", anyPort, "--log-level", "error"}, c.args...)...)
		first := b.line(t, b.stdout)
		url := urlPattern.FindString(first)
		if first != "listening on "+url || strings.HasSuffix(url, ":0") {
			t.Errorf("the first line is %q", first)
		}
		if got := b.line(t, b.stdout); got != c.data {
			t.Errorf("the second line is %q, want %q", got, c.data)
		}
		if got := b.line(t, b.stdout); got != "web page at "+url+"/ui/" {
			t.Errorf("the third line is %q", got)
		}
		if got, want := b.line(t, b.stdout), fmt.Sprintf("process %d; to stop it, press Ctrl-C or run kill %[1]d", os.Getpid()); got != want {
			t.Errorf("the fourth line is %q, want %q", got, want)
		}
		if got := b.line(t, b.stdout); got != "try, in another terminal: "+os.Args[0]+" listen --try 3s --server "+url {
			t.Errorf("the last line is %q", got)
		}
		tryIt(t, url)
		b.stop()
		if code := <-b.code; code != exit.OK {
			t.Errorf("interrupted, it ended with %d", code)
		}
	}
}

// Tasks of a server with tokens may not call loopback, and the trial has no
// token.
func TestServeProposesNoTrialThatWouldBeRefused(t *testing.T) {
	dir := t.TempDir()
	makeToken(t, dir)
	b := start(t, "serve", "--listen", anyPort, "--data", dir, "--log-level", "error")
	for !strings.HasPrefix(b.line(t, b.stdout), "process ") {
	}
	b.stop()
	if rest, err := io.ReadAll(b.stdout); err != nil || len(rest) > 0 {
		t.Errorf("it says %q, %v", rest, err)
	}
}

func TestAListenAddressWithoutAHostIsReportedAsLoopback(t *testing.T) {
	for _, addr := range []string{":0", "0"} {
		b := start(t, "serve", "--listen", addr, "--store", "memory:", "--log-level", "error")
		b.line(t, b.stdout)
		if got := b.line(t, b.stdout); !strings.HasPrefix(got, "--listen "+addr+" names no host, so only this machine can connect; 0.0.0.0:") {
			t.Errorf("the second line is %q", got)
		}
		for !strings.HasPrefix(b.line(t, b.stdout), "try") {
		}
		b.stop()
		<-b.code
	}
}

// tryIt runs the proposed command with a shorter time. It ends by itself.
func tryIt(t *testing.T, url string) {
	t.Helper()
	l := start(t, "listen", anyPort, "--try", "10ms", "--server", url)
	l.line(t, l.stderr)
	name, _, _ := strings.Cut(strings.TrimPrefix(l.line(t, l.stderr), "created "), ",")
	if got := l.line(t, l.stdout); !strings.Contains(got, "POST  /hello  "+name+" attempt 1  +") || !strings.HasSuffix(got, "Hello from Foliot") {
		t.Errorf("listen --try printed %q", got)
	}
	if code := <-l.code; code != exit.OK {
		t.Errorf("listen --try ended with %d", code)
	}
}

func TestATaskIsDeliveredWhileAddWaits(t *testing.T) {
	hook := servertest.NewReceiver(t)
	hook.Release()
	p := serveHere(t, "--listen", anyPort, "--data", t.TempDir())
	out := p.must("add", hook.URL+"/hello", "--in", "10ms", "--name", "a", "--wait", "-o", "json")
	var done wire.Task
	fatal.If(t, json.Unmarshal([]byte(out), &done))
	if done.State != "delivered" || len(done.Attempts) != 1 || done.Attempts[0].LateMS < 0 {
		t.Errorf("add --wait printed %s", out)
	}
	wants(t, exit.Undelivered, "dead (attempts_exhausted): attempt 1, ")(p.foliot("add", "http://127.0.0.1:1/refused", "--in", "0s", "--max-attempts", "1", "--name", "b", "--wait"))
}

func TestSIGTERMLetsARunningAttemptEnd(t *testing.T) {
	t.Parallel()
	hook, dir := servertest.NewReceiver(t), t.TempDir()
	p := serveProcess(t, "--listen", anyPort, "--data", dir)
	p.must("add", hook.URL, "--in", "0s", "--name", "running")
	hook.Next(t)
	p.must("add", hook.URL, "--in", "1h", "--name", "waiting")
	p.signal(terminate)
	p.await("stopping")
	p.must("add", hook.URL, "--in", "1h", "--name", "late") // so that a receiver may still create its next task
	hook.Release()
	if code, log := p.exit(); code != exit.OK {
		t.Fatalf("it ended with %d:\n%s", code, log)
	}
	again := serveHere(t, "--listen", anyPort, "--data", dir)
	for name, state := range map[string]string{"running": "delivered", "waiting": "scheduled", "late": "scheduled"} {
		if got := again.task(name); got.State != state || state == "delivered" && len(got.Attempts) != 1 {
			t.Errorf("%s is %s after %d attempts, want %s", name, got.State, len(got.Attempts), state)
		}
	}
}

func TestAnAttemptThatOutlivesTheGraceIsRepeated(t *testing.T) {
	t.Parallel()
	hook, dir := servertest.NewReceiver(t), t.TempDir()
	p := serveHere(t, "--listen", anyPort, "--data", dir, "--grace", "50ms")
	p.must("add", hook.URL, "--in", "0s", "--name", "slow")
	hook.Next(t)
	p.signal(terminate)
	if code, log := p.exit(); code != exit.OK {
		t.Fatalf("it ended with %d:\n%s", code, log)
	}
	again := serveHere(t, "--listen", anyPort, "--data", dir)
	if name := hook.Next(t); name != "slow" {
		t.Errorf("%q arrived", name)
	}
	hook.Release()
	wants(t, exit.OK)(again.foliot("get", "slow", "--wait"))
}

func TestASecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	hook := servertest.NewReceiver(t)
	p := serveProcess(t, "--listen", anyPort, "--data", t.TempDir(), "--grace", "1h")
	p.must("add", hook.URL, "--in", "0s")
	hook.Next(t)
	p.signal(terminate)
	p.await("stopping")
	second := time.AfterFunc(sameSignal+10*time.Millisecond, func() { _ = p.cmd.Process.Signal(os.Interrupt) })
	defer second.Stop()
	if code, log := p.exit(); code != exit.Failure || !strings.Contains(log, "second signal") {
		t.Errorf("it ended with %d:\n%s", code, log)
	}
}

func TestAcceptedTasksAreDeliveredAfterAKill(t *testing.T) {
	t.Parallel()
	hook, dir := servertest.NewReceiver(t), t.TempDir()
	p := serveProcess(t, "--listen", anyPort, "--data", dir)
	want := map[string]bool{}
	for i := range 50 {
		name := fmt.Sprintf("t-%d", i)
		p.must("add", hook.URL, "--in", fmt.Sprintf("%dms", 10*i), "--name", name)
		want[name] = true
	}
	p.kill()
	hook.Release()
	serveHere(t, "--listen", anyPort, "--data", dir)
	for len(want) > 0 {
		delete(want, hook.Next(t))
	}
}

func TestAddWaitSurvivesARestart(t *testing.T) {
	hook, dir := servertest.NewReceiver(t), t.TempDir()
	p := serveProcess(t, "--listen", anyPort, "--data", dir)
	addr := strings.TrimPrefix(p.url, "http://")
	waiting := start(t, "add", hook.URL, "--in", "0s", "--name", "a", "--wait", "--server", p.url)
	waiting.line(t, waiting.stdout) // the line "created …"
	hook.Next(t)
	p.kill()
	shows(t, waiting.line(t, waiting.stderr), "still waiting for a")
	hook.Release()
	serveHere(t, "--listen", addr, "--data", dir)
	if got := waiting.line(t, waiting.stdout); !strings.HasPrefix(got, "delivered: attempt ") || !strings.Contains(got, "status 200") {
		t.Errorf("it printed %q", got)
	}
	if code := <-waiting.code; code != exit.OK {
		t.Errorf("it ended with %d", code)
	}
}

// refused runs serve, which must not start, and returns its output.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	return refusedWith(t, exit.Failure, args...)
}

// refusedWith is refused for another exit code.
func refusedWith(t *testing.T, code int, args ...string) string {
	t.Helper()
	out, errs, got := (&session{t: t}).runBare(append([]string{"serve"}, args...)...)
	if out += errs; got != code || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "foliot: ") {
		t.Errorf("serve %v ended with %d and printed %q, want exit code %d and one line", args, got, out, code)
	}
	return out
}

func TestASecondServerOnTheSameDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	p := serveProcess(t, "--listen", anyPort, "--data", dir)
	shows(t, refused(t, "--listen", anyPort, "--data", dir), dir, "in use")
	p.must("ls") // the first server still works
}

func TestAServerOnATakenPortIsRefused(t *testing.T) {
	l, err := net.Listen("tcp", anyPort)
	fatal.If(t, err)
	defer l.Close()
	dir := filepath.Join(t.TempDir(), "data")
	shows(t, refused(t, "--listen", l.Addr().String(), "--data", dir), "--listen", "in use")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the refused server left a directory: %v", err)
	}
}

func TestADirectoryOfAnotherProgramIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		file, text, says string
		code             int
	}{
		"of another format": {"FOLIOT", "This is a foliot data directory. Keep all of its files together and do not edit them.\nformat 99\n", "has format 99, this version of foliot reads only format 6", exit.Failure},
		"with other files":  {"letter.txt", "dear", "not a foliot data directory", exit.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			fatal.If(t, os.Mkdir(dir, 0o700))
			fatal.If(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600))
			shows(t, refusedWith(t, c.code, "--listen", anyPort, "--data", dir), c.says, dir)
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 {
				t.Errorf("the directory was touched: %v %v", entries, err)
			}
		})
	}
}

// A limit of the file size simulates a full disk: a write fails in the middle.
func TestAFullDiskStopsTheServerAndLosesNothing(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell to set the limit with")
	}
	dir := t.TempDir()
	p := &process{t: t, cmd: foliotCommand(t, "serve", "-o", "json", "--listen", anyPort, "--data", dir)}
	p.cmd.Args = append([]string{"sh", "-c", `ulimit -f 300; exec "$0" "$@"`, p.cmd.Path}, p.cmd.Args[1:]...)
	p.cmd.Path = shell
	p.start()
	var lines strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&lines, `{"name":"t-%d","delay":"1h","http":{"url":"http://127.0.0.1:9/"}}`+"\n", i)
	}
	s := &session{t: t, server: p.url}
	out, _, code := s.run(lines.String(), "import", "-", "-o", "json", "--batch", "50")
	var sums struct{ Created int }
	if err := json.Unmarshal([]byte(out), &sums); err != nil || code == exit.OK || sums.Created == 0 {
		t.Fatalf("import ended with %d and printed %q; it must reach the limit, and not at once", code, out)
	}
	if code, log := p.exit(); code != exit.Failure || !strings.Contains(log, `"message":"the data directory `+dir+" failed: ") {
		t.Errorf("the server ended with %d:\n%s", code, log)
	}
	again := serveHere(t, "--listen", anyPort, "--data", dir)
	if kept := strings.Count(again.must("ls", "-n", "0"), "\n"); kept < sums.Created {
		t.Errorf("%d tasks were answered as created, %d are there", sums.Created, kept)
	}
}

func TestATaskCannotCallTheServerItself(t *testing.T) {
	p := serveHere(t, "--listen", anyPort, "--store", "memory:")
	out, _, code := p.foliot("add", p.url+"/v1/tasks/cancel?all=true", "--in", "0s", "--wait")
	if code != exit.Undelivered || !strings.Contains(out, "egress_denied") {
		t.Errorf("add --wait ended with %d and printed %q", code, out)
	}
	p.await(`msg="the egress policy refused a task" namespace=default task=`)
	shows(t, p.log.String(), strings.TrimPrefix(p.url, "http://")+" is an address of this server")
}

func TestTasksMayNotCallLoopbackIfOthersMayCreateThem(t *testing.T) {
	hook := servertest.NewReceiver(t)
	hook.Release()
	for _, c := range []struct {
		args []string
		code int
	}{
		{nil, exit.OK},
		{[]string{"--host", "foliot.example"}, exit.Undelivered},
		{[]string{"--host", "foliot.example", "--egress-allow", "127.0.0.0/8"}, exit.OK},
		{[]string{"--listen", "0.0.0.0:0", "--insecure-listen"}, exit.Undelivered},
	} {
		p := serveHere(t, append([]string{"--listen", anyPort, "--store", "memory:"}, c.args...)...)
		if out, errs, code := p.foliot("add", hook.URL, "--in", "0s", "--wait"); code != c.code {
			t.Errorf("serve %v: add --wait ended with %d, want %d, and printed %q%q", c.args, code, c.code, out, errs)
		}
		p.kill()
	}
}

func TestASecondSignalWithin200MillisecondsDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals, began := make(chan os.Signal), time.Now()
		var stopped, ended time.Duration
		go func() {
			awaitSecond(signals, func() { stopped = time.Since(began) })
			ended = time.Since(began)
		}()
		for _, at := range []time.Duration{time.Second, time.Second + time.Millisecond, time.Second + 199*time.Millisecond, 3 * time.Second} {
			time.Sleep(time.Until(began.Add(at)))
			signals <- os.Interrupt
			synctest.Wait()
		}
		if stopped != time.Second || ended != 3*time.Second {
			t.Errorf("it began to stop after %v, and ended after %v", stopped, ended)
		}
	})
}
