package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/foliot/foliot/bench/page"
)

func curves() ([]byte, error) {
	x := []float64{1e3, 1e6, 1e7}
	p := Plot{Title: "A <title>", Unit: "some unit", X: "timers", Number: page.Figure, Series: []Series{
		{Name: "first", X: x, Values: []float64{100, 110, 900}},
		{Name: "with a gap", X: x, Values: []float64{90, math.NaN(), -1}},
		{Name: "ours", X: x, Ours: true, Main: true, Values: []float64{30, 30, 31}},
		{Name: "not measured", X: x, Values: []float64{math.NaN(), math.NaN(), math.NaN()}},
	}}
	return p.Curves()
}

func bars(log bool) ([]byte, error) {
	p := Plot{Title: "Bars", Unit: "ms", Kinds: []string{"p50", "p99"}, Series: []Series{
		{Name: "first", Values: []float64{0.5, 3000}, Texts: []string{"0.5 ms", "3000 ms"}},
		{Name: "early", Values: []float64{-2, math.NaN()}, Texts: []string{"-2 ms", "not measured"}},
		{Name: "ours", Ours: true, Values: []float64{1, 0}, Texts: []string{"1 ms", "0 ms"}},
	}}
	return p.Bars(log)
}

func TestPlotsAreWellFormedAndAlwaysTheSame(t *testing.T) {
	for name, draw := range map[string]func() ([]byte, error){
		"curves":      curves,
		"bars":        func() ([]byte, error) { return bars(true) },
		"bars from 0": func() ([]byte, error) { return bars(false) },
		"one kind of bars": func() ([]byte, error) {
			p := Plot{Kinds: []string{""}, Series: []Series{{Values: []float64{7}, Texts: []string{"7"}}}}
			return p.Bars(true)
		},
	} {
		svg, err := draw()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again, _ := draw(); !bytes.Equal(svg, again) {
			t.Errorf("%s: two pictures of the same values differ", name)
		}
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s: it has an invalid number", name)
		}
	}
}

func TestAPlotHasTheNamesAndTheTextsOfItsSeries(t *testing.T) {
	lines, err := curves()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := bars(true)
	if err != nil {
		t.Fatal(err)
	}
	for text, svg := range map[string][]byte{
		"A &lt;title&gt;": lines, "some unit": lines, "timers": lines, "first": lines, "with a gap": lines,
		"Bars": rows, "p50": rows, "p99": rows, "early": rows, "ours": rows, "3000 ms": rows, "not measured": rows, "1.0": rows,
	} {
		if !bytes.Contains(svg, []byte(">"+text+"<")) {
			t.Errorf("%q is missing", text)
		}
	}
	if bytes.Contains(lines, []byte("not measured")) {
		t.Error("a curve without points has a name")
	}
}

func TestKnownCountsTheBestKnownSeries(t *testing.T) {
	p := Plot{Series: []Series{{Values: []float64{1, math.NaN()}}, {Values: []float64{1, 2, math.NaN()}}}}
	if n := p.Known(); n != 2 {
		t.Errorf("%d known, want 2", n)
	}
}
