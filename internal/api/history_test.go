package api_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/history"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

func TestANamespaceSeesItsOwnHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		s.namespace("acme")
		operator, own := s.token("*", settings.ScopeRead), s.token("acme", settings.ScopeRead)
		r := history.New("process")
		for range 5 {
			for j, namespace := range []string{"acme", "acme", task.DefaultNamespace} {
				o := &task.Outcome{Verdict: task.Success, Late: time.Duration(60*j) * time.Millisecond}
				done := &task.Task{Namespace: namespace, Queue: []string{"mail", "bills", "mail"}[j], State: task.Delivered}
				r.Attempt(task.FloorMillis(time.Now()), done, o, done)
			}
			time.Sleep(20 * time.Minute)
			fatal.If(t, r.Flush(t.Context(), s.store, task.FloorMillis(time.Now())))
		}
		for _, c := range []struct {
			query           string
			headers         []string
			attempts, steps int
			queues          int
		}{
			{"?from=-3h", []string{operator}, 15, 5, 3},
			{"?from=-3h", []string{operator, "Foliot-Namespace: acme"}, 10, 5, 2},
			{"?from=-3h", []string{own}, 10, 5, 2},
			{"?from=-3h&queue=mail", []string{own}, 5, 5, 1},
			{"?from=-30h", []string{own}, 10, 2, 2},
			{"?from=-168h&step=24h", []string{own}, 10, 1, 2},
			{"?from=-3h&until=-70m&step=10m", []string{own}, 4, 2, 2},
			{"", []string{own}, 6, 3, 2},
		} {
			h := decoded[wire.History](s.do("GET", "/v1/history"+c.query, "", c.headers...), 200)
			sum := 0
			for _, f := range h.Steps {
				sum += int(f.Attempts)
			}
			if sum != c.attempts || len(h.Steps) != c.steps || len(h.Queues) != c.queues || h.Queues[0].P50MS > 100 {
				t.Errorf("%s: %d attempts in %d steps and %d queues: %+v", c.query, sum, len(h.Steps), len(h.Queues), h)
			}
		}
		s.namespace("late") // in the last part of 20 minutes
		late := s.token("late", settings.ScopeRead)
		done := &task.Task{Namespace: "late", Queue: "mail", State: task.Delivered}
		r.Attempt(task.FloorMillis(time.Now()), done, &task.Outcome{Verdict: task.Success}, done)
		time.Sleep(2 * time.Hour)
		fatal.If(t, r.Flush(t.Context(), s.store, task.FloorMillis(time.Now())))
		for _, query := range []string{"?from=-3h", "?from=-30h"} {
			if h := decoded[wire.History](s.do("GET", "/v1/history"+query, "", late), 200); len(h.Steps) != 1 || h.Steps[0].Attempts != 1 {
				t.Errorf("%s: the first hour of a namespace has %+v", query, h.Steps)
			}
		}
		for query, want := range map[string][2]string{
			"?from=x": {"bad_time", "from"}, "?step=90s": {"out_of_range", "step"}, "?from=-25h&step=10m": {"out_of_range", "step"}, "?step=0s": {"out_of_range", "step"}, "?step=2161h": {"out_of_range", "step"},
			"?from=1h": {"out_of_range", "from"}, "?from=-47h30m&until=-47h50m": {"out_of_range", "from"}, "?from=-9000h&until=-8000h": {"out_of_range", "from"}, "?from=-9000h&step=30m": {"out_of_range", "step"}, "?queue=@": {"bad_name", "queue"}, "?for=1h": {"unknown_parameter", "for"},
		} {
			s.do("GET", "/v1/history"+query, "", own).problem(400, want[0], want[1])
		}
	})
}
