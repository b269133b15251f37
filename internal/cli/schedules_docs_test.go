package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/quick"
)

const schedulesPage = "../../docs/schedules.md"

// atServer is shell for scripts that call the server of the docs. That server
// is at url here.
func atServer(t *testing.T, url string) func(script string) (out string, err error) {
	t.Helper()
	run := shell(t, "curl")
	return func(script string) (string, error) {
		script = strings.ReplaceAll(script, "http://127.0.0.1:8750", url)
		return run(strings.ReplaceAll(script, "curl ", "curl -fsS "), "FOLIOT_SERVER="+url)
	}
}

func TestTheScheduleExamplesOfTheDocsWork(t *testing.T) {
	_, url := startServer(t)
	out, err := atServer(t, url)(typed(t, schedulesPage, "# Schedules: cron, intervals, time zones\n"))
	if err != nil || !strings.Contains(out, "created nightly: at 21:00 on weekdays, Europe/Berlin") || strings.Count(out, "T21:00:00+0") < 6 || !strings.Contains(out, `"name":"nightly"`) {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestTheCrontabExampleOfTheDocsWorks(t *testing.T) {
	_, url := startServer(t)
	script := strings.ReplaceAll(typed(t, schedulesPage, "## From a crontab\n"), "crontab -l", "echo '@daily curl http://127.0.0.1:9/a'")
	out, err := atServer(t, url)(script + "foliot cron get 127.0.0.1-9-a")
	for _, want := range []string{"created 1,", "timeout\t10m0s\n", "on dead\thttps://ops.example/dead\n", "at 00:00 every day, Europe/Berlin"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%v: %q is missing in\n%s", err, want, out)
		}
	}
}

// The test does not wait 25 hours as the docs do.
func TestTheDeadMansSwitchOfTheDocsWorks(t *testing.T) {
	quick.Leave(t, "waits for a switch")
	alarms := make(chan string, 9)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { alarms <- r.URL.Path }))
	defer receiver.Close()
	_, url := startServer(t)
	run := atServer(t, url)
	script := typed(t, schedulesPage, "## When nothing happens: a dead man's switch\n")
	for _, r := range [][2]string{{"25h", "2s"}, {"https://alerts.example", receiver.URL}} {
		if !strings.Contains(script, r[0]) {
			t.Fatalf("the page has no %q", r[0])
		}
		script = strings.ReplaceAll(script, r[0], r[1])
	}
	for range 2 { // after it has fired, the same lines set it again
		if out, err := run(script); err != nil || !strings.Contains(out, "touched backup-missing") {
			t.Fatalf("%v:\n%s", err, out)
		}
		if len(alarms) > 0 {
			t.Error("it went off although it was touched")
		}
		select {
		case path := <-alarms:
			if path != "/backup-missing" {
				t.Errorf("it called %s", path)
			}
		case <-time.After(time.Minute):
			t.Fatal("it did not go off")
		}
		if out, err := run("until foliot get backup-missing | grep -q delivered; do sleep 0.05; done"); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
	}
	if out, err := run("foliot touch backup-missing || test $? = 4"); err != nil || !strings.Contains(out, "the task is delivered") {
		t.Errorf("when it has gone off: %v:\n%s", err, out)
	}
}
