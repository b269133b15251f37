package api_test

import (
	"slices"
	"testing"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/wire"
)

func (s *service) previewRule(query, rule string, headers ...string) (got wire.RulePreview) {
	s.Helper()
	s.do("POST", "/v1/schedules/preview"+query, rule, headers...).want(200, &got)
	return got
}

func TestARuleIsPreviewedBeforeItIsStored(t *testing.T) {
	s := serve(t)
	got := s.previewRule("?from=2027-03-27T00:00:00Z&limit=3&days=365", `{"cron": "30 2 * * *", "timezone": "Europe/Berlin"}`)
	var local []string
	for _, i := range got.Instants {
		local = append(local, i.Local)
	}
	if want := []string{"2027-03-27T02:30:00+01:00", "2027-03-28T03:00:00+02:00", "2027-03-29T02:30:00+02:00"}; !slices.Equal(local, want) || got.Words == "" {
		t.Errorf("%v, want %v; %s", local, want, got.Words)
	}
	var words []string
	for _, c := range got.ClockChanges {
		words = append(words, c.Words)
	}
	if want := []string{"28 March 2027: 02:30 does not exist; it runs at 03:00", "31 October 2027: 02:30 occurs twice; it runs only the first time"}; !slices.Equal(words, want) {
		t.Errorf("%q, want %q", words, want)
	}
	if c := got.ClockChanges[0]; c.At != "2027-03-28T01:00:00.000Z" || c.Local != "2027-03-28T03:00:00+02:00" || c.Repeats || !got.ClockChanges[1].Repeats {
		t.Errorf("%+v", got.ClockChanges)
	}
	if want := slices.Repeat([]int{1}, 365); !slices.Equal(got.Days, want) {
		t.Errorf("the days have %v instants", got.Days)
	}
	if got.Absence != nil {
		t.Errorf("an absence: %+v", got.Absence)
	}
	if n := len(s.all()); n != 0 {
		t.Errorf("%d records are stored", n)
	}
}

func TestAPreviewCountsTheInstantsOfLocalDays(t *testing.T) {
	s := serve(t)
	got := s.previewRule("?from=2027-03-27T12:00:00Z&days=3", `{"cron": "0 * * * *", "timezone": "Europe/Berlin"}`)
	if want := []int{24, 23, 24}; !slices.Equal(got.Days, want) { // clocks are put forward on the second day
		t.Errorf("each hour: %v, want %v", got.Days, want)
	}
	if len(got.ClockChanges) != 0 { // an expression with every hour follows the clocks
		t.Errorf("%+v", got.ClockChanges)
	}
	if got := s.previewRule("?days=2", `{"every": "1s"}`); !slices.Equal(got.Days[1:], []int{100}) || got.Words != "every second" {
		t.Errorf("each second: %v, %q", got.Days, got.Words)
	}
}

func TestAPreviewHasTheEffectOfAnAbsence(t *testing.T) {
	s := serve(t)
	const absence = "?from=2027-01-01T00:00:00Z&absent_from=2027-01-01T00:00:30Z&absent_until=2027-01-01T01:00:30Z"
	for _, c := range []struct {
		rule    string
		fired   int
		latest  string
		skipped []wire.SkippedInstants
	}{
		{`{"cron": "* * * * *"}`, 1, "2027-01-01T01:00:00.000Z", []wire.SkippedInstants{{From: "2027-01-01T00:01:00.000Z", Until: "2027-01-01T00:59:00.000Z", Why: "missed"}}},
		{`{"every": "1m", "missed": "fire_all"}`, 60, "2027-01-01T01:00:00.000Z", []wire.SkippedInstants{}},
		{`{"every": "1m", "missed": "fire_all", "catchup_limit": 7}`, 7, "2027-01-01T01:00:00.000Z", []wire.SkippedInstants{{From: "2027-01-01T00:01:00.000Z", Until: "2027-01-01T00:53:00.000Z", Why: "catchup_limit"}}},
		{`{"cron": "0 12 * * *"}`, 0, "", []wire.SkippedInstants{}},
	} {
		got := s.previewRule(absence, c.rule).Absence
		if got == nil || got.Fired != c.fired || !slices.Equal(got.Skipped, c.skipped) || len(got.Latest) != min(c.fired, 20) {
			t.Errorf("%s: %+v", c.rule, got)
			continue
		}
		if c.latest != "" && got.Latest[len(got.Latest)-1].At != c.latest {
			t.Errorf("%s: the latest are %+v", c.rule, got.Latest)
		}
	}
}

func TestAPreviewRefusesWhatAScheduleRefuses(t *testing.T) {
	s := serve(t)
	const daily = `{"cron": "0 12 * * *"}`
	for _, c := range []struct{ query, rule, code, field string }{
		{"", `{}`, "required", "cron"},
		{"", `{"cron": "61 * * * *"}`, "bad_cron", "cron"},
		{"", `{"cron": "0 12 * * *", "timezone": "Europe/Berin"}`, "bad_timezone", "timezone"},
		{"", `{"every": "1m", "dst_gap": "skip"}`, "conflict", "every"},
		{"", `{"every": "1ms"}`, "out_of_range", "every"},
		{"", `{"cron": "0 12 * * *", "task": {}}`, "unknown_field", "task"},
		{"", `{"cronn": "0 12 * * *"}`, "unknown_field", "cronn"},
		{"?days=367", daily, "bad_parameter", "days"},
		{"?limit=0", daily, "bad_parameter", "limit"},
		{"?from=1960-01-01T00:00:00Z", daily, "out_of_range", "from"},
		{"?absent_from=2027-01-01T00:00:00Z", daily, "bad_parameter", "absent_until"},
		{"?absent_from=2027-01-02T00:00:00Z&absent_until=2027-01-01T00:00:00Z", daily, "out_of_range", "absent_until"},
	} {
		s.do("POST", "/v1/schedules/preview"+c.query, c.rule).problem(400, c.code, c.field)
	}
}

// Its tokens can only read.
func TestASuspendedNamespaceCanPreviewARule(t *testing.T) {
	s := serve(t)
	s.configure(settings.PutNamespace{Settings: settings.NamespaceSettings{Name: "acme", Suspended: true}})
	token := s.token("acme", settings.ScopeRead)
	s.previewRule("", `{"every": "1m"}`, token)
	s.do("POST", "/v1/tasks", hour, token).problem(403, "insufficient_scope", "Authorization")
}
