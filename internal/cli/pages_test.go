package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/exit"
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

func TestEveryStateOfATaskHasARowInTroubleshooting(t *testing.T) {
	text := page(t, "troubleshooting.md")
	for _, state := range []client.State{client.Scheduled, client.Held, client.Running, client.Delivered, client.Cancelled, client.Expired, client.Dead} {
		if !strings.Contains(text, "\n| `"+string(state)+"`") {
			t.Errorf("the state %s has no row", state)
		}
	}
}

// The page says that get shows why, and a command that ends it.
func TestGetShowsWhyATaskIsHeld(t *testing.T) {
	s := newSession(t)
	s.must("", "queue pause mail")
	s.must("", "add http://127.0.0.1:9/ --in 1h --queue mail --name a")
	if got := s.must("", "get a"); !strings.Contains(got, "held") || !strings.Contains(got, "foliot queue resume mail") {
		t.Errorf("get shows\n%s", got)
	}
}

func TestThePageSaysWhichCommandsMakeAQueue(t *testing.T) {
	said := regexp.MustCompile("(?s)A queue exists as soon as `(\\w+)` or `(\\w+)` names it,.*\n`(\\w+)` and `(\\w+)` of an unknown queue are 404").FindStringSubmatch(page(t, "operations.md"))
	if said == nil {
		t.Fatal("the page does not say it")
	}
	s := newSession(t)
	for i, want := range []int{exit.OK, exit.OK, exit.NotFound, exit.NotFound} {
		args := []string{"queue", said[i+1], said[i+1]}
		if said[i+1] == "purge" {
			args = append(args, "--yes")
		}
		if _, _, code := s.run("", args...); code != want {
			t.Errorf("foliot %v ended with %d, want %d", args, code, want)
		}
	}
}

// TestTasksAndSettingsMoveAsThePageSays runs the commands of docs/redis.md
// between two servers.
func TestTasksAndSettingsMoveAsThePageSays(t *testing.T) {
	from, to := newSession(t), newSession(t)
	from.must("", "queue set mail --rate 20")
	from.must("", "namespace set acme --max-pending 5")
	from.must("", "cron add nightly @daily http://127.0.0.1:9/")
	from.must("", "add http://127.0.0.1:9/ --in 1h --name a")
	want := from.must("", "export --settings")
	commands := typed(t, "../../docs/redis.md", "## From a directory to Redis, and back\n")
	t.Chdir(t.TempDir())
	servers := strings.NewReplacer("http://127.0.0.1:8750", from.server, "http://127.0.0.1:8751", to.server)
	for line := range strings.Lines(commands) {
		from.mustBare(servers.Replace(strings.TrimPrefix(strings.TrimSpace(line), "foliot ")))
	}
	if got := to.must("", "export --settings"); got != want {
		t.Errorf("the settings are now\n%s, and were\n%s", got, want)
	}
	to.must("", "get a")
}

// page returns a page of docs.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
