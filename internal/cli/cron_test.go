package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/transfer"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
)

// must runs a command that must succeed, and returns its output.
func (s *session) must(stdin, line string) string {
	s.t.Helper()
	out, errs, code := s.run(stdin, s.words(line)...)
	if code != exit.OK {
		s.t.Fatalf("%s ended with %d: %s%s", line, code, out, errs)
	}
	return out
}

func TestATaskShowsTheScheduleThatMadeIt(t *testing.T) {
	s := newSession(t)
	s.must("", "cron add nightly @daily http://127.0.0.1:9/")
	s.must("", "cron backfill nightly --from 2020-01-01T00:00:00Z --until 2020-01-01T12:00:00Z")
	name, _, _ := strings.Cut(s.must("", "ls"), "\t")
	shows(t, s.must("", "get "+name), "\nschedule\tnightly\ninstant\t2020-01-01T00:00:00.000Z\n")
}

// A date means midnight in the zone of the schedule.
func TestADateMeansMidnightInTheZoneOfTheSchedule(t *testing.T) {
	s := newSession(t)
	s.must("", "cron add n '0 0 * * *' http://127.0.0.1:9/ --timezone Asia/Tokyo --start 2020-01-01 --end 2399-12-31")
	if got := s.must("", "cron preview n --from 2020-01-02 -n 1"); !strings.HasPrefix(got, "2020-01-02T00:00:00+09:00\t") {
		t.Errorf("got %q", got)
	}
	if got, want := s.must("", "cron backfill n --from 2020-01-01 --until 2020-01-03"), "created 3 tasks of n, 2019-12-31T15:00:00.000Z to 2020-01-02T15:00:00.000Z, due now\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	shown := s.must("", "cron get n")
	shows(t, shown, "start\t2019-12-31T15:00:00.000Z\n", "end\t2399-12-30T15:00:00.000Z\n")
	for line, want := range map[string]string{
		"cron preview @daily -n 1 --from 2020-05-05":                                       "2020-05-05T00:00:00Z\t",
		"cron preview '* * * * *' -n 1 --from 2018-11-04 --timezone America/Sao_Paulo":     "2018-11-04T01:00:00-02:00\t", // midnight is skipped
		"cron preview '*/30 * * * *' -n 1 --from 2026-11-01 --timezone America/Havana":     "2026-11-01T00:00:00-04:00\t", // midnight is repeated
		"cron preview '0 * * * *' -n 1 --from 2027-03-28 --timezone Europe/Berlin -o json": `{"at":"2027-03-27T23:00:00.000Z"`,
	} {
		if got := s.must("", line); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	for _, line := range []string{"cron preview n --from 2020-02-30", "cron preview n --from 1960-01-01", "cron preview n --from 2020-1-1", "cron preview @daily --from 2020-01-01 --timezone Mars/Olympus"} {
		if _, errs, code := s.run("", s.words(line)...); code != exit.Usage || !strings.Contains(errs, "2020-") && !strings.Contains(errs, "1970 to 2399") && !strings.Contains(errs, "--timezone") {
			t.Errorf("%s ended with %d: %s", line, code, errs)
		}
	}
}

func TestTheTasksOfAScheduleAreFoundByItsName(t *testing.T) {
	s := newSession(t)
	for _, name := range []string{"hour", "hourly"} {
		s.must("", "cron add "+name+" @daily http://127.0.0.1:9/")
		s.must("", "cron trigger "+name)
	}
	if got := s.must("", "ls --schedule hour"); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "hour@") {
		t.Errorf("listed are\n%s", got)
	}
	if got := s.must("", "export --schedule hour"); strings.Count(got, "\n") != 1 {
		t.Errorf("exported are\n%s", got)
	}
	s.must("", "cancel --schedule hour --yes")
	if got := s.must("", "ls --state scheduled"); !strings.HasPrefix(got, "hourly@") {
		t.Errorf("left are\n%s", got)
	}
}

func TestTheOutputOfABackfillRepeatsIt(t *testing.T) {
	s := newSession(t)
	s.must("", "cron add hourly @hourly http://127.0.0.1:9/")
	var made int
	var from, until string
	if _, err := fmt.Sscanf(s.must("", "cron backfill hourly --from -3h"), "created %d tasks of hourly, %s to %s", &made, &from, &until); err != nil || made == 0 {
		t.Fatal(made, err)
	}
	got := s.must("", "cron backfill hourly --from "+from+" --until "+strings.TrimSuffix(until, ","))
	if !strings.HasSuffix(got, fmt.Sprintf(", %d existed already\n", made)) {
		t.Errorf("from %s until %s: %s", from, until, got)
	}
}

// A duration from now means another time later, so the error must name the
// times.
func TestAnInterruptedBackfillPrintsHowToContinue(t *testing.T) {
	s := newSession(t)
	s.server = "http://127.0.0.1:1"
	const again = "foliot cron backfill hourly --from 2020-01-01T00:00:00.000Z --until 20"
	wants(t, exit.Unreachable, again)(s.run("", "cron", "backfill", "hourly", "--from", "2020-01-01T00:00:00Z"))
}

// The error names the command that creates the other tasks later.
func TestABackfillAboveAQuotaPrintsHowToContinue(t *testing.T) {
	s := newSession(t)
	s.must("", "namespace set default --max-pending 4")
	s.must("", "cron add hourly @hourly http://127.0.0.1:9/")
	const line = "cron backfill hourly --from 2020-01-01T00:00:00.000Z --until 2020-01-01T09:30:00.000Z"
	_, errs, code := s.run("", s.words(line)...)
	if code != exit.Failure || !strings.Contains(errs, "created 3 of 10") || !strings.Contains(errs, "foliot "+line+"\n") {
		t.Errorf("it ended with %d: %s", code, errs)
	}
	s.must("", "namespace set default --max-pending unlimited")
	if got := s.must("", line); !strings.HasPrefix(got, "created 7 tasks of hourly") || !strings.HasSuffix(got, ", 3 existed already\n") {
		t.Errorf("the command that it names: %s", got)
	}
}

// A crontab has no policies for a receiver that is down, but its import has.
func TestTheFlagsOfAnImportApplyToAllItsLines(t *testing.T) {
	s := newSession(t)
	const text = "*/5 * * * * curl http://127.0.0.1:9/a\n@every 90s curl -m 3 http://127.0.0.1:9/b\n"
	const line = "cron import - --timezone UTC --timeout 10m --overlap skip --on-dead https://ops.example/dead"
	_, errs, code := s.run(text, s.words(line)...)
	if code != exit.OK || errs != "" {
		t.Fatalf("it ended with %d: %s", code, errs)
	}
	for name, timeout := range map[string]string{"a": "10m", "b": "3s"} {
		shown := s.must("", "cron get 127.0.0.1-9-"+name)
		shows(t, shown, "timeout\t"+timeout, "overlap\tskip", "on dead\thttps://ops.example/dead")
	}
}

func TestAnImportWarnsOfCallsWithoutATimeLimit(t *testing.T) {
	s := newSession(t)
	for stdin, want := range map[string]string{
		"@daily curl http://127.0.0.1:9/a\n@daily curl -m 600 http://127.0.0.1:9/b\n@daily http://127.0.0.1:9/c\n": "lines without a time limit: 2. Their calls are cut off after 15s",
		"@daily curl -m 600 http://127.0.0.1:9/b\n@daily wget -T 5 http://127.0.0.1:9/c\n":                         "",
	} {
		if _, errs, code := s.run(stdin, "cron", "import", "-", "--timezone", "UTC", "--dry-run"); code != 0 || !strings.HasPrefix(errs, want) || want == "" && errs != "" {
			t.Errorf("it ended with %d and printed %q, want %q", code, errs, want)
		}
	}
}

func TestImportReadsTheOutputOfADryRun(t *testing.T) {
	s := newSession(t)
	lines := s.must("# name: n\n0 5 * * * curl -d 'a \"b\"' -m 3 http://127.0.0.1:9/a\n", "cron import - --timezone Asia/Tokyo --dry-run -o json")
	if got := s.must(lines, "import -"); !strings.HasPrefix(got, "created 0 and 1 schedule,") {
		t.Errorf("got %q", got)
	}
	if got := s.must("# name: n\n0 5 * * * curl -d 'a \"b\"' -m 3 http://127.0.0.1:9/a\n", "cron import - --timezone Asia/Tokyo"); got != "created 0, replaced 0, skipped 1 existing, refused 0\n" {
		t.Errorf("got %q", got)
	}
}

func TestACrontabImportCanBeRepeatedAfterTheServerFails(t *testing.T) {
	s := newSession(t)
	const text = "@daily http://127.0.0.1:9/a\n@daily http://127.0.0.1:9/b\n"
	s.server = "http://127.0.0.1:1"
	out, errs, code := s.run(text, "cron", "import", "-", "--timezone", "UTC")
	if code != exit.Unreachable || !strings.HasPrefix(out, "created 0,") || !strings.Contains(errs, "repeat the command to continue: line 1: ") {
		t.Errorf("it ended with %d: %s%s", code, out, errs)
	}
}

func TestAFileThatIsNotACrontabIsRefused(t *testing.T) {
	s := newSession(t)
	file := filepath.Join(s.dir, "large")
	fatal.If(t, os.WriteFile(file, make([]byte, 1<<20+1), 0o600))
	wants(t, exit.Usage, "so it is probably not a crontab")(s.run("", "cron", "import", file))
	out, errs, code := s.run(strings.Repeat("rm -rf /\n", 3*transfer.MaxReported), "cron", "import", "-")
	if code != exit.Usage || out != "" || strings.Count(errs, "\n") != transfer.MaxReported+2 {
		t.Errorf("it ended with %d and %d lines: %s", code, strings.Count(errs, "\n"), out)
	}
}

func TestAnExportOmitsSchedulesThatTheFilterDoesNotSelect(t *testing.T) {
	s := newSession(t)
	s.must("", "cron add once @daily http://127.0.0.1:9/ --queue a --label k=v")
	s.must("", "cron add poll --every 5s http://127.0.0.1:9/ --queue b")
	for line, want := range map[string]int{"export": 2, "export --queue a": 1, "export --label k=v": 1, "export --label k=w": 0, "export --due-before 1h": 0} {
		if got := strings.Count(s.must("", line), `"task":`); got != want {
			t.Errorf("%s: %d schedules, want %d", line, got, want)
		}
	}
}

// If the namespace has a create rate, an import takes longer, but it succeeds.
func TestAnImportOfSchedulesWaitsForTheRate(t *testing.T) {
	quick.Leave(t, "waits for a rate")
	t.Parallel()
	for _, row := range []struct{ stdin, line, want string }{
		{`{"name":"n","every":"1h","task":{"http":{"url":"http://127.0.0.1:9/"}}}`, "import -", "created 0 and 1 schedule, skipped 0"},
		{"# name: n\n@every 1h http://127.0.0.1:9/\n", "cron import -", "created n: every hour, next"},
	} {
		s := newSession(t)
		s.server = slowToCreate(t)
		if got := s.must(row.stdin, row.line); !strings.HasPrefix(got, row.want) {
			t.Errorf("%s: got %q", row.line, got)
		}
	}
}

// slowToCreate returns the URL of a server that accepts the schedule n only at
// the second request.
func slowToCreate(t *testing.T) string {
	var puts atomic.Int64
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"status":404,"code":"not_found","detail":"there is no schedule n"}`))
			return
		}
		if puts.Add(1) == 1 {
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Retry-After", "3600") // longer than the client itself waits
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"status":429,"code":"rate_exceeded","field":"create_rate","detail":"slow down"}`))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"name":"n","version":1,"words":"every hour","state":"active","next_at":"2030-01-01T01:00:00.000Z",` +
			`"every":"1h","task":{"http":{"url":"http://127.0.0.1:9/"}},"created_at":"2030-01-01T00:00:00.000Z"}`))
	}))
	t.Cleanup(slow.Close)
	return slow.URL
}

func TestAnEmptyCrontabIsReported(t *testing.T) {
	s := newSession(t)
	for _, in := range []string{"", "\n \n"} {
		if out, errs, code := s.run(in, "cron", "import", "-"); code != exit.Usage || out != "" || !strings.Contains(errs, "foliot: the crontab is empty") {
			t.Errorf("%q ended with %d: %s%s", in, code, out, errs)
		}
	}
	wants(t, exit.OK, "no line calls a URL")(s.run("# nothing here\nMAILTO=ops\n", "cron", "import", "-"))
}
