package main

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are the lines of a run in the format of Go benchmarks, which
// benchstat reads too: "key: value", and "BenchmarkPart/contender 1 value unit
// ...".
type results struct {
	head     map[string]string
	values   map[string][]float64 // one for each trial, by "Part/contender unit"
	failures []string
}

// Head returns a value of the description.
func (r *results) Head(key string) string { return r.head[key] }

// Failures has a text for each failed measurement.
func (r *results) Failures() []string { return r.failures }

// processors is what package testing appends to a name.
var processors = regexp.MustCompile(`-\d+$`)

func isResult(line string) bool {
	return strings.HasPrefix(line, "Benchmark") && len(strings.Fields(line)) >= 4
}

func read(text string) *results {
	r := &results{head: map[string]string{}, values: map[string][]float64{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !isResult(line) {
			key, value, _ := strings.Cut(line, ": ")
			if r.head[key] = value; key == "failed" {
				r.failures = append(r.failures, value)
			}
			continue
		}
		words := strings.Fields(strings.TrimPrefix(line, "Benchmark"))
		name := processors.ReplaceAllString(words[0], "")
		for i := 2; i+1 < len(words); i += 2 {
			if value, err := strconv.ParseFloat(words[i], 64); err == nil {
				key := name + " " + words[i+1]
				r.values[key] = append(r.values[key], value)
			}
		}
	}
	return r
}

// trials returns the values of all trials.
func (r *results) trials(part, contender, unit string) []float64 {
	return r.values[part+"/"+contender+" "+unit]
}

// median returns the median of the trials, or NaN if there is none.
func (r *results) median(part, contender, unit string) float64 {
	list := slices.Sorted(slices.Values(r.trials(part, contender, unit)))
	if len(list) == 0 {
		return math.NaN()
	}
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}
