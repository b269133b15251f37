package cli

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/cron"
	"github.com/foliot/foliot/internal/cli/exit"
)

func TestCronSetChangesOnlyTheGivenFields(t *testing.T) {
	const add = "cron add n '0 9 * * *' http://127.0.0.1:9/a --timezone Europe/Berlin --dst-gap skip --dst-overlap both --start 2030-01-01 --end 2039-01-01 --max-runs 7 --jitter 5s " +
		"--missed fire_all --catchup-window 2h --catchup-limit 9 --overlap skip --queue q --priority high --label k=v -H X-A:1 -X PUT --json {\"a\":1} " +
		"--timeout 3s --expire-after 4h --max-attempts 5 --min-backoff 6s --max-backoff 7m --max-age 8h --on-dead http://127.0.0.1:9/dead --paused"
	for _, c := range []struct{ flags, was, is string }{
		{"--cron '0 10 * * *'", `"cron":"0 9 * * *"`, `"cron":"0 10 * * *"`},
		{"--timezone Asia/Tokyo", `"timezone":"Europe/Berlin"`, `"timezone":"Asia/Tokyo"`},
		{"--dst-gap next", `"dst_gap":"skip"`, `"dst_gap":"next"`},
		{"--dst-overlap first", `"dst_overlap":"both"`, `"dst_overlap":"first"`},
		{"--start 2031-01-01", `"start":"2029-12-31T23:00:00.000Z"`, `"start":"2030-12-31T23:00:00.000Z"`},
		{"--end ''", `"end":"2038-12-31T23:00:00.000Z",`, ``},
		{"--max-runs 0", `"max_runs":7,`, ``},
		{"--jitter 6s", `"jitter":"5s"`, `"jitter":"6s"`},
		{"--missed skip", `"missed":"fire_all"`, `"missed":"skip"`},
		{"--catchup-window 0s", `"catchup_window":"2h"`, `"catchup_window":"0s"`},
		{"--catchup-limit 10", `"catchup_limit":9`, `"catchup_limit":10`},
		{"--overlap allow", `"overlap":"skip"`, `"overlap":"allow"`},
		{"--url http://127.0.0.1:9/b", `:9/a"`, `:9/b"`},
		{"-X POST", `"method":"PUT"`, `"method":"POST"`},
		{"-H x-a:2", `"X-A":"1"`, `"x-a":"2"`},
		{"--json {\"b\":2}", `{"a":1}`, `{"b":2}`},
		{"--queue r", `"queue":"q"`, `"queue":"r"`},
		{"--priority low", `"priority":"high"`, `"priority":"low"`},
		{"--label l=w", `{"k":"v"}`, `{"k":"v","l":"w"}`},
		{"--timeout ''", `"timeout":"3s"`, `"timeout":"15s"`},
		{"--expire-after 0s", `"expire_after":"4h"`, `"expire_after":"0s"`},
		{"--max-attempts 0", `"max_attempts":5`, `"max_attempts":0`},
		{"--min-backoff 7s", `"min_backoff":"6s"`, `"min_backoff":"7s"`},
		{"--max-backoff 8m", `"max_backoff":"7m"`, `"max_backoff":"8m"`},
		{"--max-age 0s", `"max_age":"8h"`, `"max_age":"0s"`},
		{"--on-dead=", `"on_dead":"http://127.0.0.1:9/dead"`, `"on_dead":""`},
	} {
		t.Run(c.flags, func(t *testing.T) {
			s := newSession(t)
			s.must("", add)
			before := scheduleOf(s, "n")
			s.must("", "cron set n "+c.flags)
			if want := strings.Replace(before, c.was, c.is, 1); want == before || scheduleOf(s, "n") != want {
				t.Errorf("it is\n%s want\n%s", scheduleOf(s, "n"), want)
			}
		})
	}
}

func TestCronSetChangesTheKindAndItsArguments(t *testing.T) {
	s := newSession(t)
	s.must("", "cron add n --every 1h --kind report --args {\"days\":30}")
	for _, c := range []struct{ flags, want string }{
		{"--timeout 3s", `"work":{"kind":"report","args":{"days":30}}`},
		{"--args {\"days\":7}", `"work":{"kind":"report","args":{"days":7}}`},
		{"--kind cleanup", `"work":{"kind":"cleanup","args":{"days":7}}`},
		{"--args ''", `"work":{"kind":"cleanup"}`},
		{"--url http://127.0.0.1:9/", `"http":{"url":"http://127.0.0.1:9/","method":"POST"}`},
		{"--kind report --args 1", `"work":{"kind":"report","args":1}`},
	} {
		s.must("", "cron set n "+c.flags)
		got := scheduleOf(s, "n")
		if !strings.Contains(got, c.want) || strings.Contains(got, `"http"`) == strings.Contains(got, `"work"`) {
			t.Errorf("after %s it is\n%s", c.flags, got)
		}
	}
	for _, flags := range []string{"--kind ''", "--url http://127.0.0.1:9/ --kind report", "--json 1", "-H x:y"} {
		before := scheduleOf(s, "n")
		if _, stderr, code := s.run("", s.words("cron set n "+flags)...); code != exit.Usage || scheduleOf(s, "n") != before {
			t.Errorf("%s ended with %d and printed %q", flags, code, stderr)
		}
	}
	shows(t, s.must("", "cron ls"), "\tkind report\n")
}

func TestAnEmptyQueueGivesAScheduleTheDefaultOne(t *testing.T) {
	s := newSession(t)
	s.must("", "cron add n @daily http://127.0.0.1:9/ --queue q")
	s.must("", "cron set n --queue ''")
	if got := scheduleOf(s, "n"); strings.Contains(got, `"queue":"q"`) {
		t.Errorf("it is\n%s", got)
	}
	wants(t, exit.Usage, "--namespace: ")(s.run("", s.words("cron set n --timeout 3s --namespace ''")...))
}

// scheduleOf returns a schedule as foliot export writes it.
func scheduleOf(s *session, name string) string {
	s.t.Helper()
	for line := range strings.Lines(s.must("", "export")) {
		if strings.Contains(line, `"name":"`+name+`"`) {
			return line
		}
	}
	s.t.Fatalf("%s is not exported", name)
	return ""
}

// A flag that sets no field would be accepted and ignored.
func TestEveryFlagOfCronSetSetsAField(t *testing.T) {
	for _, leaf := range theModel().Leaves(true) {
		if leaf.FullPath() != "foliot cron set" {
			continue
		}
		for _, f := range leaf.Flags {
			if !cron.CanReset(f.Name) && f.Name != "help" {
				t.Errorf("--%s sets nothing", f.Name)
			}
		}
		return
	}
	t.Error("the command foliot cron set is missing")
}

func TestABurstWithoutARateIsRefused(t *testing.T) {
	s := newSession(t)
	_, stderr, code := s.run("", s.words("queue set mail --burst 5")...)
	if code != exit.Usage || !strings.Contains(stderr, "--burst: ") {
		t.Errorf("it ended with %d and printed %q", code, stderr)
	}
	s.must("", "queue set mail --rate 5 --burst 7")
	s.must("", "queue set mail --rate unlimited")
	shows(t, s.must("", "queue get mail"), "limits\tnone\n")
}

// Only fixed times of the day can fall into an hour that is repeated or
// skipped.
func TestAnIntervalShowsNoRulesForClockChanges(t *testing.T) {
	s := newSession(t)
	for cron, fixed := range map[string]bool{"'30 2 * * *'": true, "@daily": true, "'*/5 * * * *'": false, "'0 * * * *'": false, "--every 5s": false} {
		s.must("", "cron add n "+cron+" http://127.0.0.1:9/ --replace")
		if shown := s.must("", "cron get n"); strings.Contains(shown, "dst gap") != fixed || strings.Contains(shown, "dst overlap") != fixed {
			t.Errorf("%s is shown as\n%s", cron, shown)
		}
	}
}
