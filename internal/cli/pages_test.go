package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
)

// On the page, … stands for any text.
func TestThePageShowsTheErrorOfAMissingTask(t *testing.T) {
	example := regexp.MustCompile(`(?m)^\{"code":"not_found".*$`).FindString(page(t, "cli.md"))
	if example == "" {
		t.Fatal("the page shows no such error")
	}
	want := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(example), "…", ".*") + "\n$")
	if _, got, _ := newSession(t).run("", "get", "a", "-o", "json"); !want.MatchString(got) {
		t.Errorf("the page shows\n%s\nbut the error is\n%s", example, got)
	}
}

// The page says that get shows why, and a command that ends it.
func TestGetShowsWhyATaskIsHeld(t *testing.T) {
	s := newSession(t)
	s.must("", "queue pause mail")
	s.must("", "add http://127.0.0.1:9/ --in 1h --queue mail --name a")
	shows(t, s.must("", "get a"), "held", "foliot queue resume mail")
}

func TestTasksAndSettingsMoveAsThePageSays(t *testing.T) {
	moveAsThePageSays(t, newSession(t), newSession(t))
}

func TestTasksAndSettingsMoveFromADirectoryToRedisAndBack(t *testing.T) {
	quick.Leave(t, "starts two directories and a Redis")
	at := func(p *process) *session { return &session{t: t, server: p.url} }
	moveAsThePageSays(t, at(serveHere(t, "--listen", anyPort, "--data", t.TempDir())),
		at(redisNode(t, "redis://"+redistest.New(t).Addr)), at(serveHere(t, "--listen", anyPort, "--data", t.TempDir())))
}

// moveAsThePageSays fills the first server, and runs the commands of docs/redis.md
// from each server to the next. The exports of all must be equal.
func moveAsThePageSays(t *testing.T, servers ...*session) {
	t.Helper()
	from := servers[0]
	from.must("", "queue set mail --rate 20")
	from.must("", "namespace set acme --max-pending 5")
	from.must("", "cron add nightly @daily http://127.0.0.1:9/ --max-runs 3")
	from.must("", "add http://127.0.0.1:9/ --in 1h --name a --queue mail --max-attempts 3 --label k=v -H X-A:1")
	from.must(`{ "n":  1.0 }`, "add http://127.0.0.1:9/ --in 2h --name json --json @-")
	from.must("\x00\xff \n", "add http://127.0.0.1:9/ --in 3h --name bytes --data @-")
	commands := typed(t, "../../docs/redis.md", "## From a directory to Redis, and back\n")
	t.Chdir(t.TempDir())
	for _, to := range servers[1:] {
		urls := strings.NewReplacer("http://127.0.0.1:8750", from.server, "http://127.0.0.1:8751", to.server)
		for line := range strings.Lines(commands) {
			from.mustBare(urls.Replace(strings.TrimPrefix(strings.TrimSpace(line), "foliot ")))
		}
		for _, export := range []string{"export --settings", "export -"} {
			if want, got := from.must("", export), to.must("", export); got != want || !strings.Contains(got, "mail") {
				t.Errorf("%s is now\n%s, and was\n%s", export, got, want)
			}
		}
		from = to
	}
}

// page returns a page of docs.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	fatal.If(t, err)
	return string(text)
}

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

// Left out are the example with a token, and the JSON that servers send.
func TestTheExamplesOfTheAPIPageWork(t *testing.T) {
	run := atServer(t, serveHere(t, "--listen", anyPort, "--store", "memory:").url)
	script, found := `curl -X PUT --json '{"kinds": true}' http://127.0.0.1:8750/v1/namespaces/default`, 0
	for _, block := range fence.FindAllStringSubmatch(page(t, "api.md"), -1) {
		found++
		switch code := block[2]; {
		case block[1] == "sh" && !strings.Contains(code, "FOLIOT_TOKEN"):
			script += "\n" + code
		case strings.HasPrefix(code, `{"calls"`):
			script += "\ncurl --json '" + code + "' http://127.0.0.1:8750/v1/tasks/batch"
		case strings.HasPrefix(code, `{"at"`):
			script += "\ncurl --json '" + code + "' http://127.0.0.1:8750/v1/tasks"
		default:
			found--
		}
	}
	out, err := run("set -e\n" + script)
	for _, want := range []string{`"state":"cancelled"`, `"due_at":"2027-03-28T07:00:00.000Z"`, `"already":true`, `"keep_dead":"720h"`, `"words":"at 21:00 on weekdays"`} {
		if err != nil || !strings.Contains(out, want) || found < 9 {
			t.Errorf("%v: %q is missing in the replies to %d examples:\n%s", err, want, found, out)
		}
	}
}

func TestTheScheduleExamplesOfTheDocsWork(t *testing.T) {
	url := serveHere(t, "--listen", anyPort, "--store", "memory:").url
	out, err := atServer(t, url)(typed(t, schedulesPage, "# Schedules: cron, intervals, time zones\n"))
	if err != nil || !strings.Contains(out, "created nightly: at 21:00 on weekdays, Europe/Berlin") || strings.Count(out, "T21:00:00+0") < 6 || !strings.Contains(out, `"name":"nightly"`) {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestTheCrontabExampleOfTheDocsWorks(t *testing.T) {
	url := serveHere(t, "--listen", anyPort, "--store", "memory:").url
	script := strings.ReplaceAll(typed(t, schedulesPage, "## From a crontab\n"), "crontab -l", "echo '@daily curl http://127.0.0.1:9/a'")
	out, err := atServer(t, url)(script + "foliot cron get 127.0.0.1-9-a")
	for _, want := range []string{"created 1,", "timeout\t10m\n", "on dead\thttps://ops.example/dead\n", "at 00:00 every day, Europe/Berlin"} {
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
	url := serveHere(t, "--listen", anyPort, "--store", "memory:").url
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

var (
	// fence matches a block of code.
	fence = regexp.MustCompile("(?s)\n```(\\w*)\n(.*?)\n```")
	// folded matches the place where a command continues in the next line.
	folded = regexp.MustCompile(`\\\n +`)
	// changing matches a command that changes tasks or schedules.
	changing = regexp.MustCompile(`(?m)^(?:\$ )?(bin/foliot (?:add|move|cancel|touch|cron add|cron set|cron rm) .*|curl [^']*(?:'[^']*')?.*)$`)
)

// In the second round, the tasks of the first round are finished.
func TestTheDemosOfTheReadmeCanBeRunTwice(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	fatal.If(t, err)
	s := newSession(t)
	for round := range 2 {
		found := 0
		for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
			if block[1] != "" && block[1] != "sh" {
				continue
			}
			for _, command := range changing.FindAllStringSubmatch(folded.ReplaceAllString(block[2], " "), -1) {
				found++
				s.demo(round+1, endOfExample.ReplaceAllString(command[1], ""))
			}
		}
		if found < 6 {
			t.Errorf("only %d demos were found", found)
		}
		s.must("", "cancel --all --yes")
	}
}

// Without these flags, the command makes a token of a namespace: an operator who
// has lost all tokens could still not manage the server.
func TestThePagesMakeAnOperatorsTokenInADataDirectory(t *testing.T) {
	command, found := regexp.MustCompile("token create --data [^`\n]*"), 0
	pages, err := filepath.Glob("../../docs/*.md")
	fatal.If(t, err)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		fatal.If(t, err)
		for _, line := range command.FindAllString(string(text), -1) {
			if found++; !strings.Contains(line, "--for operator --scope admin") {
				t.Errorf("%s: foliot %s", page, line)
			}
		}
	}
	if found == 0 {
		t.Error("no page has the command")
	}
}

// demo runs a command of the README.
func (s *session) demo(round int, line string) {
	s.t.Helper()
	words := s.words(line)
	if words[0] == "bin/foliot" {
		if _, stderr, code := s.run("", words[1:]...); code != exit.OK {
			s.t.Errorf("round %d: %s ended with %d: %s", round, line, code, stderr)
		}
		return
	}
	method, body, url := http.MethodPost, "", words[len(words)-1]
	for i, w := range words {
		switch w {
		case "-X":
			method = words[i+1]
		case "--json":
			body = words[i+1]
		}
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, strings.Replace(url, "http://127.0.0.1:8750", s.server, 1), strings.NewReader(body))
	fatal.If(s.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	fatal.If(s.t, err)
	resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		s.t.Errorf("round %d: %s: the reply is %s", round, line, resp.Status)
	}
}
