package task

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// The docs page about schedules shows the runs on hard days. These tests fire each
// row of its table.

func schedulesPage(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/schedules.md")
	fatal.If(t, err)
	return string(b)
}

// clockChangeDay matches a row: zone, day, expression, policy, runs.
var clockChangeDay = regexp.MustCompile("^\\| `([A-Za-z_/]+)`, ([0-9]+ [A-Z][a-z]+ [0-9]+).* \\| `(.+?)` \\| (.*?) \\| (.*?) \\|$")

func TestTheClockChangesOfThePageAreTrue(t *testing.T) {
	_, table, ok := strings.Cut(schedulesPage(t), "## Clock changes")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := 0
	for line := range strings.Lines(table) {
		row := clockChangeDay.FindStringSubmatch(strings.TrimSpace(line))
		if row == nil {
			if strings.HasPrefix(line, "| `") {
				t.Errorf("a row that cannot be read: %s", line)
			}
			continue
		}
		rows++
		if got := runsOn(t, row[1], row[2], row[3], row[4]); got != row[5] {
			t.Errorf("%sruns %s", line, got)
		}
	}
	if !ok || rows < 10 {
		t.Errorf("the page has %d rows of clock changes", rows)
	}
}

// TestTheRefusalsOfThePageAreTrue: each expression in the table of refusals is
// refused, and each in the table of the grammar is accepted.
func TestTheRefusalsOfThePageAreTrue(t *testing.T) {
	_, section, ok := strings.Cut(schedulesPage(t), "## Expressions")
	section, _, _ = strings.Cut(section, "\n## ")
	taken, refused, split := strings.Cut(section, "| refused |")
	for table, want := range map[string]bool{taken: true, refused: false} {
		rows := 0
		for line := range strings.Lines(table) {
			first, _, isRow := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			if !isRow || !strings.HasPrefix(line, "| `") {
				continue
			}
			rows++
			for _, quoted := range regexp.MustCompile("`(.+?)`").FindAllStringSubmatch(first, -1) {
				if text, err := parseOnPage(quoted[1]); (err == nil) != want {
					t.Errorf("%q is taken: %v (%v)", text, err == nil, err)
				}
			}
		}
		if rows < 5 {
			t.Errorf("a table has %d rows", rows)
		}
	}
	if !ok || !split {
		t.Error("the page has not both tables")
	}
}

// parseOnPage parses an expression from the page, or one field of it. A single
// field is tried in each of the five positions.
func parseOnPage(text string) (whole string, err error) {
	if strings.Contains(text, " ") || text[0] == '@' {
		_, err := cron.Parse(text)
		return text, err
	}
	for i := range 5 {
		fields := []string{"*", "*", "*", "*", "*"}
		fields[i] = text
		whole = strings.Join(fields, " ")
		if _, err = cron.Parse(whole); err == nil {
			break
		}
	}
	return whole, err
}

// runsOn fires a schedule over the days around one day, and returns its runs on
// that day as the zone's clocks show them.
func runsOn(t *testing.T, zone, day, expr, policy string) string {
	t.Helper()
	at, err := time.Parse("2 January 2006", day)
	fatal.If(t, err)
	where, err := cron.LoadZone(zone)
	fatal.If(t, err)
	begin, end := Millis(at.AddDate(0, 0, -3).UnixMilli()), Millis(at.AddDate(0, 0, 3).UnixMilli())
	s := putAt(t, begin, nil, everySpec(0, rule(func(r *recurrence.Rule) {
		r.Cron, r.Zone = expr, zone
		switch policy {
		case "":
		case "`dst_gap: skip`":
			r.Gap = cron.GapSkip
		case "`dst_overlap: both`":
			r.Fold = cron.OverlapBoth
		default:
			t.Fatalf("the policy %q", policy)
		}
	})))
	var runs []string
	for s.Due < end {
		now := s.Due
		r, err := fireOnce(now, s, 0)
		if err != nil || r.Spawned == nil || r.Spawned.Due != now {
			t.Fatalf("%s, %s: %v, %+v", zone, expr, err, r)
		}
		s = r.Task
		if local := now.Time().In(where); local.Format("2 January 2006") == day {
			runs = append(runs, local.Format("15:04-07:00"))
		}
	}
	if runs == nil {
		return "nothing"
	}
	return strings.Join(runs, ", ")
}
