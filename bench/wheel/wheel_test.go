// Package wheel measures package wheel and other timers.
package wheel

import (
	"flag"
	"os"
	"testing"

	"github.com/foliot/foliot/bench/metric"
	"github.com/foliot/foliot/bench/peer"
)

func BenchmarkSetRemove(b *testing.B)         { each(b) }
func BenchmarkSetRemoveParallel(b *testing.B) { each(b) }
func BenchmarkPostpone(b *testing.B)          { each(b) }
func BenchmarkReplace(b *testing.B)           { each(b) }
func BenchmarkStanding(b *testing.B)          { each(b) }
func BenchmarkStandingFew(b *testing.B)       { each(b) }
func BenchmarkStandingMany(b *testing.B)      { each(b) }
func BenchmarkMillion(b *testing.B)           { each(b) }
func BenchmarkAccuracy(b *testing.B)          { each(b) }

// contenders are the implementations. docs/benchmarks.md describes them.
var contenders = []struct {
	name string
	run  func(b *testing.B, benchmark string)
}{
	{"time", with(peer.OpenTime)},
	{"go-zero", with(peer.OpenGoZero)},
	{"heap", with(peer.OpenHeap)},
	{"rounds", with(peer.OpenRounds)},
	{"hands", with(peer.OpenHands)},
	{"buckets", with(peer.OpenBuckets)},
	{"foliot", with(peer.OpenFoliot)},
	{"foliot-keyed", with(peer.OpenFoliotKeyed)},
	{"foliot-timers", with(peer.OpenFoliotTimers)},
	{"foliot-batch", with(peer.OpenFoliotBatch)},
}

// each runs a benchmark for each contender.
func each(b *testing.B) {
	for _, c := range contenders {
		if applies(c.name, b.Name()) {
			b.Run(c.name, func(sub *testing.B) { c.run(sub, b.Name()) })
		}
	}
}

// applies reports whether a contender has a benchmark. A batch differs from
// Foliot only when timers fire. With ten million timers go-zero would take 2.6
// GB, and minutes.
func applies(contender, benchmark string) bool {
	switch contender {
	case "foliot-batch":
		return benchmark == "BenchmarkMillion" || benchmark == "BenchmarkAccuracy"
	case "go-zero":
		return benchmark != "BenchmarkStandingMany"
	}
	return true
}

// opener opens an implementation. Its timers report to the sink.
type opener[H any] func(peer.Sink) peer.Timers[H]

func with[H any](open opener[H]) func(*testing.B, string) {
	return func(b *testing.B, benchmark string) {
		var v metric.Values
		var err error
		switch benchmark {
		case "BenchmarkSetRemove":
			repeat(b, open, (*crowd[H]).setRemove)
			return
		case "BenchmarkSetRemoveParallel":
			setRemoveParallel(b, open)
			return
		case "BenchmarkPostpone":
			repeat(b, open, (*crowd[H]).postpone)
			return
		case "BenchmarkReplace":
			repeat(b, open, (*crowd[H]).replace)
			return
		case "BenchmarkStandingFew":
			v, err = standing(1000, open)
		case "BenchmarkStanding":
			v, err = standing(metric.Either(1_000_000, 1000), open)
		case "BenchmarkStandingMany":
			v, err = standing(metric.Either(10_000_000, 1000), open)
		case "BenchmarkMillion":
			v, err = million(metric.Either(1_000_000, 1000), open)
		case "BenchmarkAccuracy":
			v, err = accuracy(metric.Either(21_000, 300), open)
		}
		metric.Report(b, v, err)
	}
}

// TestMain lets each benchmark run once in a test.
func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() == "" {
		_ = flag.Set("test.benchtime", "1x") // the flag exists
	}
	os.Exit(m.Run())
}

func TestEachImplementationDoesTheWork(t *testing.T) {
	for _, benchmark := range []string{"SetRemove", "SetRemoveParallel", "Postpone", "Replace", "Standing", "Million", "Accuracy"} {
		benchmark = "Benchmark" + benchmark
		for _, c := range contenders {
			if !applies(c.name, benchmark) {
				continue
			}
			r := testing.Benchmark(func(b *testing.B) { c.run(b, benchmark) })
			if r.N == 0 || r.Extra[metric.Lost]+r.Extra[undead] != 0 {
				t.Errorf("%s of %s: %+v", benchmark, c.name, r)
			}
		}
	}
}
