package chart

import (
	"fmt"
	"math"
)

// Bars is a plot of horizontal bars, one or more to a row.
type Bars struct {
	Title, Subtitle string
	Log             bool
	Kinds           []string // names of the bars of a row; empty if there is one bar
	Rows            []Row
}

// Row is one group of bars.
type Row struct {
	Name   string
	Bold   bool
	Values []float64 // one for each kind; NaN: none
	Texts  []string  // next to each bar
}

const (
	barsLeft  = 180.0
	barsRight = width - 110
	barHeight = 13.0
	barGap    = 3.0
	rowGap    = 11.0
)

// shades are the colours of the bars of a row, in the order of the kinds.
var (
	shades     = []string{"#9fb8cc", "#5c88ad", "#2f5573"}
	boldShades = []string{"#f0b48a", "#e08344", "#d55e00"}
)

// SVG draws the plot.
func (b Bars) SVG() []byte {
	top := 66.0
	if len(b.Kinds) > 1 {
		top += 24
	}
	rowHeight := float64(len(b.Kinds))*(barHeight+barGap) + rowGap
	bottom := top + float64(len(b.Rows))*rowHeight
	c := newCanvas(bottom+42, b.Title, b.Subtitle)
	x := b.scale()
	for _, v := range x.ticks() {
		c.line(x.at(v), top, x.at(v), bottom, `stroke="`+grid+`"`)
		c.text(x.at(v), bottom+18, label(v), `text-anchor="middle" fill="`+faint+`"`)
	}
	b.legend(c, top-14)
	for i, row := range b.Rows {
		row.draw(c, x, top+rowGap/2+float64(i)*rowHeight, len(b.Kinds))
	}
	return c.bytes()
}

func (b Bars) scale() scale {
	var values []float64
	for _, row := range b.Rows {
		for _, v := range row.Values {
			if !math.IsNaN(v) {
				values = append(values, v)
			}
		}
	}
	if b.Log {
		s := logScale(values, barsLeft, barsRight)
		s.low /= 2 // so that the smallest value has a bar too
		s.low = stepBelow(s.low)
		return s
	}
	return linearScale(values, barsLeft, barsRight)
}

func (b Bars) legend(c *canvas, y float64) {
	if len(b.Kinds) < 2 {
		return
	}
	x := barsLeft
	for k, kind := range b.Kinds {
		c.addf(`<rect x="%.1f" y="%.1f" width="12" height="12" fill="%s"/>`, x, y-10, shade(shades, k, len(b.Kinds)))
		c.text(x+18, y, kind, `fill="`+faint+`"`)
		x += 34 + 7.5*float64(len(kind))
	}
}

func (r Row) draw(c *canvas, x scale, y float64, kinds int) {
	colors, weight := shades, "400"
	if r.Bold {
		colors, weight = boldShades, "700"
	}
	middle := y + float64(kinds)*(barHeight+barGap)/2
	c.text(barsLeft-10, middle+3, r.Name, fmt.Sprintf(`text-anchor="end" fill="%s" font-weight="%s"`, ink, weight))
	for k, v := range r.Values {
		if !math.IsNaN(v) {
			end := math.Max(x.at(v), barsLeft+1)
			c.addf(`<rect x="%.1f" y="%.1f" width="%.1f" height="%g" fill="%s"/>`, barsLeft, y, end-barsLeft, barHeight, shade(colors, k, kinds))
			c.text(end+6, y+11, r.Texts[k], `font-size="12" fill="`+ink+`"`)
		} else {
			c.text(barsLeft+6, y+11, r.Texts[k], `font-size="12" fill="`+faint+`"`)
		}
		y += barHeight + barGap
	}
}

// shade returns the colour of bar k of n. A single bar has the second strongest
// colour.
func shade(colors []string, k, n int) string {
	if n == 1 {
		return colors[1]
	}
	return colors[k%len(colors)]
}

func point(x, y float64) string { return fmt.Sprintf("%.1f,%.1f", x, y) }
