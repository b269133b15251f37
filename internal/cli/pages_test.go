package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
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
	if got := s.must("", "get a"); !strings.Contains(got, "held") || !strings.Contains(got, "foliot queue resume mail") {
		t.Errorf("get shows\n%s", got)
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
	fatal.If(t, err)
	return string(text)
}
