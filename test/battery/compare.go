package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/foliot/foliot/test/battery/harness"
)

// compared has the scenarios that -compare runs if none is named: the scenarios
// with measured results.
var compared = []string{"creates", "million", "throughput", "steady"}

// result identifies a measured result.
type result struct{ scenario, name, unit string }

// pairs holds the values of a result: one for each run of each binary. A
// scenario that measures a result several times adds their median.
type pairs struct{ before, after []float64 }

// compare runs the scenarios with the binary of another commit and with that of
// this tree, in turn. The machine changes from minute to minute, so the two runs
// of a pair are compared with each other.
func compare(ctx context.Context, chosen []scenario, opts harness.Options, dir string, stdout io.Writer) error {
	fmt.Fprintf(stdout, "build %s and this tree\n", opts.Compare)
	before, err := harness.BuildAt(ctx, dir, opts.Compare)
	if err != nil {
		return err
	}
	after, err := harness.Build(ctx, dir, false)
	if err != nil {
		return err
	}
	var order []result
	all := map[result]*pairs{}
	log, err := os.Create(filepath.Join(dir, "compare.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	for i := range 2 * opts.Pairs {
		second := i%2 == 1
		old := second == (i/2%2 == 1) // the first of each pair is the old one, then the new one, and so on
		opts.Binary = after
		if old {
			opts.Binary = before
		}
		fmt.Fprintf(stdout, "run %d of %d: %s\n", i+1, 2*opts.Pairs, filepath.Base(opts.Binary))
		runs := filepath.Join(dir, fmt.Sprint("run-", i+1))
		if err := os.Mkdir(runs, 0o700); err != nil {
			return err
		}
		for _, s := range chosen {
			_, figures, err := runOne(ctx, s, opts, filepath.Join(runs, s.name), log)
			if err != nil {
				return err
			}
			for r, value := range medians(s.name, figures, &order) {
				if all[r] == nil {
					all[r] = &pairs{}
				}
				if old {
					all[r].before = append(all[r].before, value)
				} else {
					all[r].after = append(all[r].after, value)
				}
			}
		}
		if err := os.RemoveAll(runs); err != nil {
			return err
		}
	}
	return errors.Join(printRatios(stdout, order, all), log.Close())
}

// medians returns the median of each result of one run. It adds new results to
// order.
func medians(scenario string, figures []harness.Figure, order *[]result) map[result]float64 {
	values := map[result][]float64{}
	for _, f := range figures {
		r := result{scenario, f.Name, f.Unit}
		values[r] = append(values[r], f.Value)
		if !slices.Contains(*order, r) {
			*order = append(*order, r)
		}
	}
	found := map[result]float64{}
	for r, v := range values {
		found[r] = median(v)
	}
	return found
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// printRatios prints one line for each result: the medians of both binaries, and
// the median and the range of the ratios of all pairs.
func printRatios(out io.Writer, order []result, all map[result]*pairs) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\nscenario\tresult\tbefore\tafter\tunit\tafter/before\tlowest\thighest\t\n")
	for _, r := range order {
		p := all[r]
		n := min(len(p.before), len(p.after))
		if n == 0 {
			fmt.Fprintf(w, "%s\t%s\t\t\t%s\tonly one binary has this result\t\t\t\n", r.scenario, r.name, r.unit)
			continue
		}
		ratios := make([]float64, n)
		for i := range n {
			ratios[i] = p.after[i] / p.before[i]
		}
		fmt.Fprintf(w, "%s\t%s\t%.4g\t%.4g\t%s\t%.3f\t%.3f\t%.3f\t\n", r.scenario, r.name, median(p.before), median(p.after), r.unit,
			median(ratios), slices.Min(ratios), slices.Max(ratios))
	}
	return w.Flush()
}
