package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
)

func TestARestoredBackupHasAllTasksAndSettings(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serveHere(t, "--listen", anyPort, "--data", data)
	p.must("add", "http://127.0.0.1:9/hook", "--in", "1h", "--name", "kept", "--queue", "mail")
	p.must("queue", "set", "mail", "--rate", "5")
	p.must("queue", "pause", "mail")
	p.must("cron", "add", "nightly", "@daily", "http://127.0.0.1:9/hook", "--start", "2030-01-01")
	p.must("cron", "add", "poll", "--every", "5s", "http://127.0.0.1:9/hook", "--paused")
	file := filepath.Join(t.TempDir(), "b.tar")
	if _, notes, code := p.foliot("backup", file); code != 0 || !strings.Contains(notes, " kB in ") {
		t.Errorf("backup does not say how much it copied: %d: %s", code, notes)
	}
	p.must("add", "http://127.0.0.1:9/hook", "--in", "1h", "--name", "later")
	p.signal(os.Interrupt)
	if code, log := p.exit(); code != 0 {
		t.Fatalf("%d: %s", code, log)
	}

	elsewhere := filepath.Join(t.TempDir(), "new")
	session := &session{t: t}
	out, stderr, code := session.runBare("restore", file, "--data", elsewhere)
	if code != 0 || !strings.HasPrefix(out, "restored 1 task and 2 schedules as of ") {
		t.Fatalf("%d: %s %s", code, out, stderr)
	}
	if want := "start the server with the settings of the old one, above all egress-allow: foliot serve --config FILE --data " + elsewhere; !strings.Contains(stderr, want) {
		t.Errorf("it does not say %q: %s", want, stderr)
	}
	wants(t, exit.Usage, "not empty")(session.runBare("restore", file, "--data", elsewhere))
	if out, stderr, code = session.runBare("doctor", "data", elsewhere); code != 0 || !strings.Contains(out, "records, index entries and counts agree") || !strings.Contains(out, "records      1 task and 2 schedules, ") {
		t.Errorf("%d: %s %s", code, out, stderr)
	}
	q := serveHere(t, "--listen", anyPort, "--data", elsewhere)
	if got := q.must("ls"); !strings.HasPrefix(got, "kept\theld (pause)\t") || strings.Contains(got, "later") {
		t.Errorf("%s", got)
	}
	shows(t, q.must("queue", "ls"), "mail\tpaused\t1\t0\t0\t5/s")
}

func TestAnIncompleteBackupIsRefusedAndLeavesNoFiles(t *testing.T) {
	p := serveHere(t, "--listen", anyPort, "--data", t.TempDir())
	p.must("add", "http://127.0.0.1:9/hook", "--in", "1h", "--name", "kept")
	file := filepath.Join(t.TempDir(), "b.tar")
	p.must("backup", file)
	whole, err := os.ReadFile(file)
	fatal.If(t, err)
	fatal.If(t, os.WriteFile(file, whole[:len(whole)*2/3], 0o600))
	dir := filepath.Join(t.TempDir(), "new")
	out, stderr, code := (&session{t: t}).runBare("restore", file, "--data", dir)
	if code != exit.Failure || !strings.Contains(stderr, "damaged or incomplete") {
		t.Errorf("%d: %s %s", code, out, stderr)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("restore left %s: %v", dir, err)
	}
	fatal.If(t, os.WriteFile(file, []byte("foliot_token\n"), 0o600))
	if _, stderr, code = (&session{t: t}).runBare("restore", file, "--data", dir); code != exit.Failure || !strings.Contains(stderr, "is not a backup of Foliot") || strings.Count(stderr, "restore") != 1 {
		t.Errorf("a file that is no backup: %d: %s", code, stderr)
	}
}

// An existing backup is worth more than an incomplete one.
func TestABackupReplacesNoFileWithoutForce(t *testing.T) {
	answer := func(w http.ResponseWriter) { _, _ = io.WriteString(w, "new") }
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
	defer srv.Close()
	s := &session{t: t, server: srv.URL, dir: t.TempDir()}
	file := filepath.Join(s.dir, "b.tar")
	holds := func(want string) {
		t.Helper()
		got, err := os.ReadFile(file)
		if entries, _ := os.ReadDir(s.dir); err != nil || string(got) != want || len(entries) != 1 {
			t.Errorf("%q, %v, other files %v", got, err, entries)
		}
	}
	fatal.If(t, os.WriteFile(file, []byte("old"), 0o600))
	wants(t, exit.Usage, file+" exists", "--force")(s.run("", "backup", file))
	holds("old")
	answer = func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, "hal")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	wants(t, exit.Unreachable, "the backup ended after")(s.run("", "backup", file, "--force"))
	holds("old")
	answer = func(w http.ResponseWriter) { _, _ = io.WriteString(w, "new") }
	wants(t, exit.OK)(s.run("", "backup", "--force", file))
	holds("new")
	for _, no := range []string{s.dir, os.DevNull} {
		wants(t, exit.Usage, "foliot: "+no)(s.run("", "backup", "--force", no))
	}
}
