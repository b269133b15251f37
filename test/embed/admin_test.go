package embed

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/admin"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
)

// shop starts a node with package admin below /timers, and builds the command
// line. run runs the command line with the token of an operator, and returns its
// output.
func shop(t *testing.T) (url string, n *foliot.Node, run func(args ...string) string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "foliot")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", binary, "../../cmd/foliot").CombinedOutput(); err != nil {
		t.Fatalf("build the command line: %v\n%s", err, out)
	}
	mux := new(foliot.Mux)
	note.Handle(mux, func(context.Context, *foliot.Task[int64]) error { return nil })
	n = foliottest.Start(t, mux)
	site := http.NewServeMux()
	site.Handle("/timers/", http.StripPrefix("/timers", admin.New(n, func(r *http.Request) admin.Access {
		if r.Header.Get("Authorization") != "Bearer of-the-shop" {
			return admin.None
		}
		return admin.Admin
	})))
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	fatal.If(t, os.WriteFile(token, []byte("of-the-shop"), 0o600))
	url = server.URL + "/timers"
	run = func(args ...string) string {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Env = append(os.Environ(), "FOLIOT_SERVER="+url, "FOLIOT_TOKEN_FILE="+token)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("foliot %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	return url, n, run
}

func TestTheCommandLineWorksWithTheAPIOfAProgramBelowAPath(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the command line")
	}
	_, n, run := shop(t)
	if _, err := note.In(t.Context(), n, "close-42", time.Hour, 42); err != nil {
		t.Fatal(err)
	}
	fatal.If(t, note.Schedule(t.Context(), n, "nightly", foliot.Cron("0 3 * * *", ""), 1))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"ls"}, "close-42"},
		{[]string{"get", "close-42"}, "kind"},
		{[]string{"cron", "ls"}, "nightly"},
		{[]string{"cron", "trigger", "nightly"}, "nightly"},
		{[]string{"queue", "ls"}, "default"},
		{[]string{"top", "--once"}, ""},
		{[]string{"move", "close-42", "--in", "2h"}, "close-42"},
		{[]string{"add", "--in", "1h", "--name", "by-hand", "--kind", "note", "--args", "7"}, "by-hand"},
		{[]string{"cancel", "close-42"}, "close-42"},
	} {
		if out := run(c.args...); !strings.Contains(out, c.want) {
			t.Errorf("foliot %s:\n%s", strings.Join(c.args, " "), out)
		}
	}
	if i, err := n.Get(t.Context(), "close-42"); err != nil || i.State != foliot.StateCancelled {
		t.Errorf("%+v, %v", i, err)
	}
	if i, err := n.Get(t.Context(), "by-hand"); err != nil || i.Kind != "note" {
		t.Errorf("%+v, %v", i, err)
	}
}
