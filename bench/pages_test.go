package main

import (
	"os"
	"path/filepath"
	"testing"

	embedreport "github.com/foliot/foliot/bench/embed/report"
	idlereport "github.com/foliot/foliot/bench/idle/report"
	"github.com/foliot/foliot/bench/program"
	"github.com/foliot/foliot/bench/record"
	redisreport "github.com/foliot/foliot/bench/redis/report"
	"github.com/foliot/foliot/bench/report"
)

// A page that was edited by hand, or not written again after a change of its
// template, fails.
func TestTheCommittedPagesAreThoseOfTheCommittedResults(t *testing.T) {
	for target, r := range map[string]struct {
		folder string
		run    program.Report
	}{
		"bench":       {".", new(report.Run)},
		"bench-idle":  {"idle", new(idlereport.Run)},
		"bench-redis": {"redis", new(redisreport.Run)},
		"bench-embed": {"embed", new(embedreport.Run)},
	} {
		if err := record.Load(filepath.Join(r.folder, "results", "latest.json"), r.run); err != nil {
			t.Fatal(err)
		}
		files, err := r.run.Files()
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range files {
			if got, err := os.ReadFile(filepath.Join("..", "docs", name)); err != nil || string(got) != string(want) {
				t.Errorf("docs/%s is not what the program writes: run make %s ARGS=-report (%v)", name, target, err)
			}
		}
	}
}
