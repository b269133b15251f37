// Package chart draws the plots of docs/benchmarks.md as SVG. They have a
// background, so that they are readable on light and dark pages.
package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

const (
	width      = 780.0
	ink        = "#1f2328"
	faint      = "#59636e"
	grid       = "#d1d9e0"
	background = "#ffffff"
)

// palette has colours that colour-blind readers can distinguish (Okabe and
// Ito). The first is for bold curves.
var palette = []string{"#d55e00", "#0072b2", "#009e73", "#b0892a", "#cc79a7", "#56b4e9", "#4d4d4d", "#7a5cc4"}

// canvas collects the text of an SVG.
type canvas struct {
	strings.Builder
}

func newCanvas(height float64, title, subtitle string) *canvas {
	c := &canvas{}
	c.addf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img" font-family="system-ui, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="13">`,
		width, height, width, height)
	c.addf(`<title>%s</title>`, html.EscapeString(title))
	c.addf(`<rect width="%g" height="%g" rx="6" fill="%s" stroke="%s"/>`, width, height, background, grid)
	c.text(20, 28, title, `font-size="16" font-weight="600" fill="`+ink+`"`)
	c.text(20, 48, subtitle, `fill="`+faint+`"`)
	return c
}

func (c *canvas) addf(format string, args ...any) {
	fmt.Fprintf(c, format, args...)
	c.WriteByte('\n')
}

func (c *canvas) text(x, y float64, s, attributes string) {
	c.addf(`<text x="%.1f" y="%.1f" %s>%s</text>`, x, y, attributes, html.EscapeString(s))
}

func (c *canvas) line(x1, y1, x2, y2 float64, attributes string) {
	c.addf(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`, x1, y1, x2, y2, attributes)
}

func (c *canvas) bytes() []byte {
	c.addf(`</svg>`)
	return []byte(c.String())
}

// scale maps values to positions on the picture.
type scale struct {
	low, high float64 // values
	from, to  float64 // positions
	log       bool
}

// logScale returns a scale from a step of 1, 2 or 5 below the values to one
// above them.
func logScale(values []float64, from, to float64) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v > 0 {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	if math.IsInf(low, 1) {
		low, high = 1, 10
	}
	s := scale{low: stepBelow(low), high: stepAbove(high), from: from, to: to, log: true}
	if s.low == s.high {
		s.high *= 10
	}
	return s
}

// linearScale returns a scale from 0 to a round number above the values.
func linearScale(values []float64, from, to float64) scale {
	high := 0.0
	for _, v := range values {
		high = math.Max(high, v)
	}
	if high == 0 {
		high = 1
	}
	return scale{high: stepAbove(high), from: from, to: to}
}

// at returns the position of v. A value that a logarithmic scale cannot show is
// at the low end.
func (s scale) at(v float64) float64 {
	part := (v - s.low) / (s.high - s.low)
	if s.log {
		part = 0
		if v > s.low {
			part = math.Log(v/s.low) / math.Log(s.high/s.low)
		}
	}
	return s.from + part*(s.to-s.from)
}

// ticks returns the values that get a line: powers of ten if there are many of
// them, otherwise steps of 1, 2 and 5.
func (s scale) ticks() (ticks []float64) {
	if !s.log {
		for i := range 6 {
			ticks = append(ticks, s.high*float64(i)/5)
		}
		return ticks
	}
	decades := math.Log10(s.high / s.low)
	for v := s.low; v <= s.high*1.0001; v = stepAbove(v * 1.0001) {
		if decades <= 3 || isPowerOfTen(v) {
			ticks = append(ticks, v)
		}
	}
	return ticks
}

func isPowerOfTen(v float64) bool {
	l := math.Log10(v)
	return math.Abs(l-math.Round(l)) < 1e-6
}

// stepAbove returns the smallest step that is at least v. Steps are 1, 2 and 5
// times a power of ten.
func stepAbove(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 2, 5} {
		if v <= step*power*1.000001 {
			return step * power
		}
	}
	return 10 * power
}

func stepBelow(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)+1e-9))
	for _, step := range []float64{5, 2} {
		if v >= step*power*0.999999 {
			return step * power
		}
	}
	return power
}

// label formats a number for an axis.
func label(v float64) string {
	switch {
	case v >= 1e6 && isPowerOfTen(v):
		return fmt.Sprintf("10%s", superscript(int(math.Round(math.Log10(v)))))
	case v >= 1000:
		return fmt.Sprintf("%d %03d", int(v+0.5)/1000, int(v+0.5)%1000)
	}
	return fmt.Sprintf("%.3g", v)
}

func superscript(n int) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	out := ""
	for _, d := range fmt.Sprint(n) {
		out += string(digits[d-'0'])
	}
	return out
}
