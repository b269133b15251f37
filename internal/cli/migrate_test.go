package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest"
)

// fullDirectory returns a directory with n tasks that are due later, and one that is
// due now and waits, because its queue is paused.
func fullDirectory(t *testing.T, n int, hook *servertest.Receiver) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	p := serveHere(t, "--listen", anyPort, "--data", dir)
	p.must("queue", "pause", "q")
	p.must("add", hook.URL, "--in", "0s", "--queue", "q", "--name", "now")
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"name":"t-%d","delay":"%dh","http":{"url":"http://127.0.0.1:9/%d"}}`+"\n", i, i+1, i)
	}
	s := &session{t: t, server: p.url}
	wants(t, exit.OK)(s.run(lines.String(), "import", "-"))
	p.signal(terminate)
	p.exit()
	return dir
}

func TestTheServerContinuesOnTheStoreThatGotItsTasks(t *testing.T) {
	hook := servertest.NewReceiver(t)
	hook.Release()
	dir, r, s := fullDirectory(t, 3, hook), redistest.New(t), newSession(t)
	url := "redis://" + r.Addr
	migrate := func(more ...string) (string, string, int) {
		return s.runBare(append([]string{"migrate", "--from", dir, "--to", url}, more...)...)
	}
	wants(t, exit.OK, "would move 4 tasks from "+dir+" to "+url)(migrate("--dry-run"))
	wants(t, exit.Failure, "is not closed")(migrate("--undo"))
	wants(t, exit.OK, "moved 4 tasks from "+dir+" to "+url+"\n", "checksum of both ", "start servers with --store "+url)(migrate())
	wants(t, exit.Failure, "has moved to "+url+": serve that")(migrate())
	wants(t, exit.Failure, "has moved to "+url)(migrate("--undo"))
	wants(t, exit.Failure, "its tasks are moving, or have moved, from "+dir+" to "+url)(s.runBare("serve", "--listen", anyPort, "--data", dir))
	p := redisNode(t, url)
	p.must("queue", "resume", "q")
	if name := hook.Next(t); name != "now" {
		t.Errorf("%q arrived", name)
	}
	if got := p.task("t-2"); got.State != "scheduled" {
		t.Errorf("t-2 is %+v", got)
	}
}

func TestAMigrationThatIsKilledContinues(t *testing.T) {
	hook := servertest.NewReceiver(t)
	dir, r, s := fullDirectory(t, 5000, hook), redistest.New(t), newSession(t)
	url := "redis://" + r.Addr
	c := foliotCommand(t, "migrate", "--from", dir, "--to", url)
	fatal.If(t, c.Start())
	redistest.Until(t, "a record was copied", func() bool {
		names, err := redistest.Command(t.Context(), r.Addr, "KEYS", "foliot:*:names")
		return err == nil && names != "*0"
	})
	fatal.If(t, c.Process.Kill())
	if err := c.Wait(); err == nil {
		t.Fatal("it ended before the kill")
	}
	for _, store := range []string{dir, url} {
		wants(t, exit.Failure, "from "+dir+" to "+url)(s.runBare("serve", "--listen", anyPort, "--store", store))
	}
	out, errs, code := s.runBare("migrate", "--from", dir, "--to", url, "-o", "json")
	var reply struct{ Tasks int }
	if err := json.Unmarshal([]byte(out), &reply); err != nil || code != exit.OK || reply.Tasks != 5001 {
		t.Errorf("it ended with %d: %s%s", code, out, errs)
	}
	_, err := redistest.Command(t.Context(), r.Addr, "FLUSHALL")
	fatal.If(t, err)
	wants(t, exit.OK, dir+" is open again", "empty it: redis-cli --scan --pattern")(s.runBare("migrate", "--from", dir, "--to", url, "--undo"))
}

func TestMigrateRefusesWhatIsNoStore(t *testing.T) {
	s, dir := newSession(t), t.TempDir()
	for from, says := range map[string]string{
		dir: "is not a data directory", "memory:": "this is no store that can move", "mysql://a/b": "this is no store that can move",
		"redis://a:b:c": "--from", "postgres://user:pa@ss@host/db": "cannot be parsed",
	} {
		out, errs, code := s.runBare("migrate", "--from", from, "--to", filepath.Join(dir, "to"))
		if code != exit.Usage || !strings.Contains(errs, says) {
			t.Errorf("%s: it ended with %d: %s%s", from, code, out, errs)
		}
	}
}
