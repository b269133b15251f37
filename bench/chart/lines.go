package chart

import "slices"

// Lines is a plot of curves on two logarithmic axes.
type Lines struct {
	Title, Subtitle string
	X               string // below the axis
	Curves          []Curve
}

// Curve is one line of a plot, with its name at its right end.
type Curve struct {
	Name   string
	Bold   bool
	Kin    bool // related to the bold curve: it has the same colour, and is dashed unless it is bold
	Points []Point
}

// Point is a point of a curve. Both coordinates are above 0.
type Point struct{ X, Y float64 }

const (
	linesHeight = 430.0
	linesLeft   = 76.0
	linesRight  = width - 190
	linesTop    = 72.0
	linesBottom = linesHeight - 56
	lineSpace   = 16.0 // between names
)

// SVG draws the plot.
func (l Lines) SVG() []byte {
	c := newCanvas(linesHeight, l.Title, l.Subtitle)
	var xs, ys []float64
	for _, curve := range l.Curves {
		for _, p := range curve.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
	}
	x, y := logScale(xs, linesLeft, linesRight), logScale(ys, linesBottom, linesTop)
	l.axes(c, x, y)
	names := l.names(x, y)
	color := 0
	for i, curve := range l.Curves {
		stroke := palette[0]
		if !curve.Bold && !curve.Kin {
			color++
			stroke = palette[1+(color-1)%(len(palette)-1)]
		}
		curve.draw(c, x, y, stroke, names[i])
	}
	return c.bytes()
}

func (l Lines) axes(c *canvas, x, y scale) {
	for _, v := range y.ticks() {
		c.line(linesLeft, y.at(v), linesRight, y.at(v), `stroke="`+grid+`"`)
		c.text(linesLeft-8, y.at(v)+4, label(v), `text-anchor="end" fill="`+faint+`"`)
	}
	for _, v := range x.ticks() {
		if !isPowerOfTen(v) {
			continue
		}
		c.line(x.at(v), linesBottom, x.at(v), linesBottom+5, `stroke="`+faint+`"`)
		c.text(x.at(v), linesBottom+20, label(v), `text-anchor="middle" fill="`+faint+`"`)
	}
	c.line(linesLeft, linesBottom, linesRight, linesBottom, `stroke="`+faint+`"`)
	c.text((linesLeft+linesRight)/2, linesBottom+42, l.X, `text-anchor="middle" fill="`+faint+`"`)
}

// names returns the height of each curve's name. It is near the last point of
// the curve, and names do not overlap.
func (l Lines) names(x, y scale) []float64 {
	at := make([]float64, len(l.Curves))
	var order []int
	for i, curve := range l.Curves {
		if len(curve.Points) > 0 {
			at[i] = y.at(curve.last().Y)
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		if at[a] != at[b] {
			return int(1e3 * (at[a] - at[b]))
		}
		return a - b
	})
	for k := 1; k < len(order); k++ {
		at[order[k]] = max(at[order[k]], at[order[k-1]]+lineSpace)
	}
	for k := len(order) - 1; k >= 0; k-- { // back up from the lower edge
		at[order[k]] = min(at[order[k]], linesBottom-float64(len(order)-1-k)*lineSpace)
	}
	return at
}

func (c Curve) last() Point { return c.Points[len(c.Points)-1] }

func (c Curve) draw(to *canvas, x, y scale, color string, nameAt float64) {
	if len(c.Points) == 0 {
		return
	}
	stroke, weight := `stroke-width="1.8"`, "400"
	switch {
	case c.Bold:
		stroke, weight = `stroke-width="3.2"`, "700"
	case c.Kin:
		stroke = `stroke-width="1.8" stroke-dasharray="7 4"`
	}
	path := ""
	for _, p := range c.Points {
		path += " " + point(x.at(p.X), y.at(p.Y))
	}
	to.addf(`<polyline points="%s" fill="none" stroke="%s" %s stroke-linejoin="round"/>`, path[1:], color, stroke)
	for _, p := range c.Points {
		to.addf(`<circle cx="%.1f" cy="%.1f" r="3.2" fill="%s"/>`, x.at(p.X), y.at(p.Y), color)
	}
	end := c.last()
	to.line(x.at(end.X)+5, y.at(end.Y), linesRight+10, nameAt, `stroke="`+color+`" stroke-width="0.8" stroke-dasharray="2 2"`)
	to.text(linesRight+14, nameAt+4, c.Name, `fill="`+color+`" font-weight="`+weight+`"`)
}
