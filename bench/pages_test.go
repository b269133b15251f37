package main

import (
	"os"
	"path/filepath"
	"testing"

	embedreport "github.com/foliot/foliot/bench/embed/report"
	heartbeatreport "github.com/foliot/foliot/bench/heartbeat/report"
	idlereport "github.com/foliot/foliot/bench/idle/report"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
	redisreport "github.com/foliot/foliot/bench/redis/report"
	"github.com/foliot/foliot/bench/report"
)

// A page that was edited by hand, or not written again after a change of its
// template, fails.
func TestTheCommittedPagesAreThoseOfTheCommittedResults(t *testing.T) {
	for _, r := range []struct {
		target, results, page string
		run                   program.Report
	}{
		{"bench", "wheel", "benchmarks.md", new(report.Run)},
		{"bench-idle", "idle", "idle-benchmarks.md", new(idlereport.Run)},
		{"bench-heartbeat", "heartbeat", "heartbeat-benchmarks.md", new(heartbeatreport.Run)},
		{"bench-redis", "redis", "redis-benchmarks.md", new(redisreport.Run)},
		{"bench-embed", "embed", "embed-benchmarks.md", new(embedreport.Run)},
	} {
		if err := record.Load(filepath.Join("results", r.results+".json"), r.run); err != nil {
			t.Fatal(err)
		}
		want, err := r.run.Page()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("..", "docs", r.page)); err != nil || string(got) != string(want) {
			t.Errorf("docs/%s is not what the program writes: run make %s ARGS=-report (%v)", r.page, r.target, err)
		}
	}
}
