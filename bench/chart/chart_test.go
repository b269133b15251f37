package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// golden compares got with a file; UPDATE_GOLDEN=1 writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has changed: check the difference, then run UPDATE_GOLDEN=1 go test ./...\n%s", path, got)
	}
}

var lines = Lines{
	Title: "A title", Subtitle: "of <some> unit", X: "timers",
	Curves: []Curve{
		{Name: "first", Points: []Point{{1e3, 100}, {1e6, 110}, {1e7, 900}}},
		{Name: "crowded", Points: []Point{{1e3, 90}, {1e6, 111}}},
		{Name: "crowded too", Points: []Point{{1e3, 80}, {1e6, 112}}},
		{Name: "ours", Bold: true, Points: []Point{{1e3, 30}, {1e7, 31}}},
		{Name: "ours, too", Kin: true, Points: []Point{{1e3, 40}, {1e7, 60}}},
		{Name: "not measured"},
	},
}

var bars = Bars{
	Title: "Bars", Subtitle: "ms, logarithmic", Log: true, Kinds: []string{"p50", "p99"},
	Rows: []Row{
		{Name: "first", Values: []float64{0.5, 3000}, Texts: []string{"0.5 ms", "3000 ms"}},
		{Name: "early", Values: []float64{-2, math.NaN()}, Texts: []string{"-2 ms", "not measured"}},
		{Name: "ours", Bold: true, Values: []float64{1, 2}, Texts: []string{"1 ms", "2 ms"}},
	},
}

func TestPlotsAreAsTheyWere(t *testing.T) {
	golden(t, "lines.svg", lines.SVG())
	golden(t, "bars.svg", bars.SVG())
}

func TestPlotsAreWellFormed(t *testing.T) {
	for name, svg := range map[string][]byte{
		"lines": lines.SVG(), "bars": bars.SVG(), "no lines": Lines{}.SVG(), "no bars": Bars{}.SVG(),
		"zero": Bars{Kinds: []string{""}, Rows: []Row{{Values: []float64{0}, Texts: []string{"0"}}}}.SVG(),
	} {
		d := xml.NewDecoder(bytes.NewReader(svg))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s has an invalid number", name)
		}
	}
}

func TestNamesOfCurvesDoNotOverlap(t *testing.T) {
	crowd := Lines{Curves: slices.Clone(lines.Curves)}
	for range 8 { // all end at the lower edge
		crowd.Curves = append(crowd.Curves, Curve{Name: "x", Points: []Point{{1e3, 30}, {1e7, 30}}})
	}
	var at []float64
	for _, m := range regexp.MustCompile(`<text x="604.0" y="([\d.]+)"`).FindAllSubmatch(crowd.SVG(), -1) {
		y, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, y)
	}
	if len(at) != 13 {
		t.Fatalf("%d names, want 13", len(at))
	}
	slices.Sort(at)
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] < lineSpace-0.2 {
			t.Errorf("two names stand at %.1f and %.1f", at[i-1], at[i])
		}
	}
	if at[len(at)-1] > linesBottom+5 {
		t.Errorf("the lowest name stands at %.1f, below the axis", at[len(at)-1])
	}
}

func TestStepsOfAnAxis(t *testing.T) {
	for _, c := range []struct{ v, below, above float64 }{
		{1, 1, 1}, {1.5, 1, 2}, {2, 2, 2}, {4.9, 2, 5}, {5.1, 5, 10}, {1000, 1000, 1000}, {0.03, 0.02, 0.05},
	} {
		if got := stepBelow(c.v); math.Abs(got/c.below-1) > 1e-9 {
			t.Errorf("stepBelow(%g) is %g, want %g", c.v, got, c.below)
		}
		if got := stepAbove(c.v); math.Abs(got/c.above-1) > 1e-9 {
			t.Errorf("stepAbove(%g) is %g, want %g", c.v, got, c.above)
		}
	}
}
