package metrics_test

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/metrics"
)

func TestACollectorShowsTheWorkOfANodeUnderTheNamesOfTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := foliot.NewKind[string]("work")
		mux := new(foliot.Mux)
		work.Handle(mux, func(ctx context.Context, task *foliot.Task[string]) error {
			switch {
			case task.Args == "hangs":
				time.Sleep(3 * time.Hour)
			case task.Args == "dead":
				return foliot.Dead(errors.New("gone"))
			case task.Args == "snoozed" && task.Attempt == 1:
				return foliot.Snooze(time.Minute)
			case task.Args == "failed" && task.Attempt == 1:
				return errors.New("later")
			}
			return nil
		})
		n := foliottest.StartWith(t, mux, foliot.Options{Logger: slog.New(slog.DiscardHandler), Grace: -1})
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(metrics.New(n))
		for _, name := range []string{"dead", "snoozed", "failed", "delivered", "hangs"} {
			_, err := work.In(t.Context(), n, name, time.Second, name)
			fatal.If(t, err)
		}
		_, err := work.In(t.Context(), n, "waits", 24*time.Hour, "waits")
		fatal.If(t, err)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		families, err := registry.Gather()
		fatal.If(t, err)
		var names []string
		got := map[string]float64{}
		for _, f := range families {
			names = append(names, f.GetName())
			for _, m := range f.GetMetric() {
				series := f.GetName()
				for _, l := range m.GetLabel() {
					series += " " + l.GetValue()
				}
				got[series] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
		snoozed := "foliot_handler_attempts_total work " + "snoozed"
		for series, want := range map[string]float64{
			"foliot_handler_attempts_total work delivered": 3, "foliot_handler_attempts_total work failed": 1, "foliot_handler_attempts_total work refused": 1, snoozed: 1,
			"foliot_handlers_hanging": 1, "foliot_attempts_running": 1, "foliot_tasks default default scheduled": 1,
		} {
			if got[series] != want {
				t.Errorf("%s is %v, want %v", series, got[series], want)
			}
		}
		for _, want := range []string{"foliot_attempts_total", "foliot_dead_total", "foliot_lateness_seconds", "foliot_waited_seconds", "foliot_tasks", "foliot_oldest_overdue_seconds", "foliot_build_info"} {
			if !slices.Contains(names, want) {
				t.Errorf("it lacks %s", want)
			}
		}
		for _, name := range names {
			if !strings.HasPrefix(name, "foliot_") || strings.HasPrefix(name, "foliot_api_") || strings.HasPrefix(name, "foliot_sync_") {
				t.Errorf("it has %s, which is not about a node", name)
			}
		}
		time.Sleep(3 * time.Hour) // the handler that hangs returns
	})
}

func TestOnlyAProgramWithMetricsLinksPrometheus(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-buildvcs=false", "-deps", "github.com/foliot/foliot", "github.com/foliot/foliot/redis", "github.com/foliot/foliot/foliottest").Output()
	fatal.If(t, err)
	for path := range strings.FieldsSeq(string(out)) {
		for _, heavy := range []string{"github.com/prometheus/", "go.opentelemetry.io/", "github.com/foliot/foliot/client"} {
			if strings.HasPrefix(path, heavy) {
				t.Errorf("a program without metrics, traces and remote links %s", path)
			}
		}
	}
}

func TestSeveralNodesHaveALabelEach(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, shop := range []string{"north", "south"} {
		n := foliottest.Start(t, new(foliot.Mux))
		prometheus.WrapRegistererWith(prometheus.Labels{"shop": shop}, registry).MustRegister(metrics.New(n))
	}
	if _, err := registry.Gather(); err != nil {
		t.Error(err)
	}
}
