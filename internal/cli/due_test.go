package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
)

func TestDueCountsTheTasksOfEachRow(t *testing.T) {
	s := newSession(t)
	for _, args := range [][]string{
		{"add", "https://receiver.example/", "--in", "30m", "--queue", "mail"},
		{"add", "https://receiver.example/", "--in", "30m"},
		{"add", "https://receiver.example/", "--in", "48h", "--queue", "mail"},
		{"queue", "pause", "mail"},
	} {
		if _, stderr, code := s.run("", args...); code != exit.OK {
			t.Fatal(args, stderr)
		}
	}
	out, stderr, code := s.run("", "due", "--queue", "mail", "--until", "24h", "--step", "12h")
	rows := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if code != exit.OK || len(rows) != 4 || rows[0] != "overdue\t0\t" || rows[3] != "later\t1\t" || !strings.HasSuffix(rows[1], "\t1\t1") && !strings.HasSuffix(rows[2], "\t1\t1") {
		t.Fatalf("%d: %q %s", code, rows, stderr)
	}
	if out, stderr, code = s.run("", "due"); code != exit.OK || strings.Count(out, "\n") != 14 {
		t.Errorf("%d: %s%s", code, out, stderr)
	}
	var due struct {
		Scheduled int
		Rings     []struct{ Counts []int }
	}
	if out, stderr, code = s.run("", "due", "-o", "json"); code != exit.OK || json.Unmarshal([]byte(out), &due) != nil || due.Scheduled != 3 || len(due.Rings[0].Counts) != 12 {
		t.Errorf("%d: %s%s", code, out, stderr)
	}
	for _, wrong := range [][]string{{"--step", "0s"}, {"--step", "1us"}, {"--until", "1m"}, {"--until", "1001s", "--step", "1s"}} {
		if _, stderr, code := s.run("", append([]string{"due"}, wrong...)...); code != exit.Usage || !strings.Contains(stderr, wrong[0]) && !strings.Contains(stderr, "--step") {
			t.Errorf("%v: %d: %s", wrong, code, stderr)
		}
	}
}
