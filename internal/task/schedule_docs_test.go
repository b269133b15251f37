package task

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task/recurrence"
)

// The docs page about schedules shows the runs on hard days and the effect of
// the policies. These tests prove it: they fire each row of its table, and draw
// its pictures from real schedules.

func schedulesPage(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/schedules.md")
	if err != nil {
		t.Fatal(err)
	}
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
	if !ok || rows < 15 {
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
	if err != nil {
		t.Fatal(err)
	}
	where, err := cron.LoadZone(zone)
	if err != nil {
		t.Fatal(err)
	}
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

func TestThePicturesOfThePageAreTrue(t *testing.T) {
	page := schedulesPage(t)
	for _, picture := range []string{misfirePicture(t), overlapPicture(t)} {
		if !strings.Contains(page, "```\n"+picture+"```\n") {
			t.Errorf("the page does not show\n%s", picture)
		}
	}
}

// misfirePicture draws the instants that make a run after no server fired for a
// while.
func misfirePicture(t *testing.T) string {
	start := utc(1, 21, 0)
	away, back := start+150_000, start+380_000
	var b bytes.Buffer
	line := func(label string, cell func(at Millis) string) {
		text := fmt.Sprintf("%-24s", label)
		for i := range Millis(8) {
			text += fmt.Sprintf("%-7s", cell(start+i*60_000))
		}
		fmt.Fprintln(&b, strings.TrimRight(text, " "))
	}
	line("", func(at Millis) string { return at.Time().Format("15:04") })
	line("the server", func(at Millis) string {
		if at > away && at < back {
			return "-"
		}
		return "up"
	})
	for _, row := range []struct {
		label string
		edit  func(*recurrence.Rule)
	}{
		{"misfire: fire_once", func(*recurrence.Rule) {}},
		{"misfire: skip", func(r *recurrence.Rule) { r.Misfire = recurrence.SkipMissed }},
		{"misfire: fire_all", func(r *recurrence.Rule) { r.Misfire = recurrence.FireAll }},
		{"  catchup_limit: 2", func(r *recurrence.Rule) { r.Misfire, r.CatchupLimit = recurrence.FireAll, 2 }},
		{"  catchup_window: 3m", func(r *recurrence.Rule) { r.Misfire, r.CatchupWindow = recurrence.FireAll, 3*time.Minute }},
	} {
		marks := map[Millis]string{}
		s := putAt(t, start-60_000, nil, everySpec(time.Minute, rule(func(r *recurrence.Rule) { r.Start = start }), rule(row.edit)))
		for now := start; now < start+8*60_000; now += 10_000 {
			if now < away || now >= back {
				s = mark(marks, s, now)
			}
		}
		line(row.label, func(at Millis) string { return marks[at] })
	}
	fmt.Fprintf(&b, "\n● on time   ◐ at %s, when the server is back   · skipped\n", back.Time().Format("15:04:05"))
	return b.String()
}

// mark fires s at now, and records the outcome of its instants.
func mark(marks map[Millis]string, s *Task, now Millis) *Task {
	for {
		r, err := fireOnce(now, s, 0)
		if err != nil {
			return s
		}
		for _, skip := range r.Skipped {
			for at := skip.From; at <= skip.Until; at += 60_000 {
				marks[at] = "·"
			}
		}
		if s = r.Task; r.Spawned == nil {
			continue
		}
		_, at, _ := OccurrenceOf(r.Spawned.Name)
		if marks[at] = "●"; at < now {
			marks[at] = "◐"
		}
	}
}

// overlapChar is the time for which a character of a picture stands.
const overlapChar Millis = 10_000

// overlapWidth is the number of characters in a line of a picture.
const overlapWidth = 45

// overlapPicture draws runs that take longer than the time between their
// instants.
func overlapPicture(t *testing.T) string {
	start := utc(1, 21, 0)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%-21s", "")
	for at := start; at < start+overlapWidth*overlapChar; at += 60_000 {
		fmt.Fprintf(&b, " %s", at.Time().Format("15:04"))
	}
	fmt.Fprintln(&b)
	for _, o := range []recurrence.Overlap{recurrence.AllowOverlap, recurrence.SkipOverlap, recurrence.BufferOne} {
		label := "overlap: " + o.String()
		s := putAt(t, start-60_000, nil, everySpec(time.Minute, overlap(o), rule(func(r *recurrence.Rule) { r.Start = start })))
		for _, line := range overlapLines(s, start) {
			if text := strings.TrimRight(string(line), " "); text != "" {
				fmt.Fprintf(&b, "%-22s%s\n", label, text)
				label = ""
			}
		}
	}
	fmt.Fprintf(&b, "\n├──┤ a run, with its instant   w waits for the end of the run before   · skipped\n")
	return b.String()
}

// overlapLines returns the runs of s, as many on a line as fit, and then the
// outcome of the other instants.
func overlapLines(s *Task, start Millis) (lines [][]rune) {
	const bar = "├%s───────┤" // 14 characters
	var ends []Millis
	marks := []rune(strings.Repeat(" ", overlapWidth))
	for column := range overlapWidth {
		now := start + Millis(column)*overlapChar
		ends = slices.DeleteFunc(ends, func(end Millis) bool { return end <= now })
		for {
			r, err := fireOnce(now, s, int64(len(ends)))
			if err != nil {
				break
			}
			if s.Recur.Waiting == 0 && r.Task.Recur.Waiting != 0 {
				marks[column] = 'w'
			}
			for range r.Skipped {
				marks[column] = '·'
			}
			if s = r.Task; r.Spawned != nil {
				_, at, _ := OccurrenceOf(r.Spawned.Name)
				ends = append(ends, now+14*overlapChar)
				lines = draw(lines, column, fmt.Sprintf(bar, at.Time().Format("15:04")))
			}
		}
	}
	return append(lines, marks)
}

// draw puts a bar on the first line that has room for it.
func draw(lines [][]rune, column int, bar string) [][]rune {
	line := []rune(strings.Repeat(" ", overlapWidth))
	if i := slices.IndexFunc(lines, func(l []rune) bool { return strings.TrimSpace(string(l[column:])) == "" }); i >= 0 {
		line = lines[i]
	} else {
		lines = append(lines, line)
	}
	copy(line[column:], []rune(bar))
	return lines
}
