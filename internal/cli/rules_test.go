package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/admin"
	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/remote"
)

// expressions are cron expressions, and the schedule that each surface must
// make of them; nil: it must refuse them.
var expressions = []struct {
	cron, zone string
	want       *client.ScheduleSpec
}{
	{"0 9 * * *", "Europe/Berlin", &client.ScheduleSpec{Cron: "0 9 * * *", TimeZone: "Europe/Berlin"}},
	{"0 9 * * *", "", &client.ScheduleSpec{Cron: "0 9 * * *", TimeZone: "UTC"}},
	{"0  9 *  * MON-FRI", "", &client.ScheduleSpec{Cron: "0 9 * * MON-FRI", TimeZone: "UTC"}},
	{"@daily", "", &client.ScheduleSpec{Cron: "@daily", TimeZone: "UTC"}},
	{"@every 90s", "", &client.ScheduleSpec{Every: 90e9}},
	{"@every 1h30m", "", &client.ScheduleSpec{Every: 5400e9}},
	{"@every 90s", "Europe/Berlin", nil},
	{"@every 500ms", "", nil},
	{"@every", "", nil},
	{"61 * * * *", "", nil},
	{"0 9 * * *", "Mars/Olympus", nil},
}

// A Go program could store an @every as a cron expression without an instant.
func TestEachSurfaceTakesTheSameCronExpressions(t *testing.T) {
	call := foliot.NewKind[struct{}]("call")
	n := foliottest.Start(t, new(foliot.Mux))
	server := httptest.NewServer(admin.New(n, func(*http.Request) admin.Access { return admin.Admin }))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{})
	fatal.If(t, err)
	t.Cleanup(c.Close)
	s := &session{t: t, server: server.URL, dir: t.TempDir()}
	command := func(stdin string, args ...string) error {
		if _, errs, code := s.run(stdin, args...); code != exit.OK {
			return fmt.Errorf("exit code %d: %s", code, errs)
		}
		return nil
	}
	work := client.Spec{Work: client.Work{Kind: "call"}}
	for surface, put := range map[string]func(name, cron, zone string) error{
		"node": func(name, cron, zone string) error {
			return call.Schedule(t.Context(), n, name, foliot.Cron(cron, zone), struct{}{})
		},
		"remote": func(name, cron, zone string) error {
			return call.Schedule(t.Context(), remote.New(c), name, foliot.Cron(cron, zone), struct{}{})
		},
		"client": func(name, cron, zone string) error {
			_, err := c.Schedules.Put(t.Context(), name, client.ScheduleSpec{Cron: cron, TimeZone: zone, Task: work})
			return err
		},
		"preview": func(name, cron, zone string) error {
			spec := client.ScheduleSpec{Cron: cron, TimeZone: zone}
			if _, err := c.Schedules.PreviewRule(t.Context(), spec, client.RuleQuery{}); err != nil {
				return err
			}
			spec.Task = work
			_, err := c.Schedules.Put(t.Context(), name, spec)
			return err
		},
		"cron add": func(name, cron, zone string) error {
			args := []string{"cron", "add", name, cron, "--kind", "call"}
			if zone != "" {
				args = append(args, "--timezone", zone)
			}
			return command("", args...)
		},
		"cron import": func(name, cron, zone string) error {
			if strings.HasPrefix(cron, "@every") && zone != "" {
				zone = "Mars/Olympus" // the zone of the other lines; none may be invalid
			}
			args := []string{"cron", "import", "-"}
			if zone != "" {
				args = append(args, "--timezone", zone)
			}
			return command(fmt.Sprintf("# name: %s\n%s http://127.0.0.1:9/\n", name, cron), args...)
		},
	} {
		for i, e := range expressions {
			name := strings.ReplaceAll(surface, " ", "-") + strconv.Itoa(i)
			err := put(name, e.cron, e.zone)
			if e.want == nil {
				if err == nil {
					t.Errorf("%s takes %q in %q", surface, e.cron, e.zone)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s refuses %q in %q: %v", surface, e.cron, e.zone, err)
				continue
			}
			got, err := c.Schedules.Get(t.Context(), name)
			if err != nil {
				t.Errorf("%s: %v", surface, err)
			} else if got.Cron != e.want.Cron || got.TimeZone != e.want.TimeZone || got.Every != e.want.Every {
				t.Errorf("%s makes of %q in %q: %q in %q, every %v", surface, e.cron, e.zone, got.Cron, got.TimeZone, got.Every)
			}
		}
	}
}
