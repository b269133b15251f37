// Package plot draws the plots of docs/benchmarks.md as SVG. They have a white
// background, so that they are readable on light and dark pages. The same
// values give the same bytes.
package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/foliot/foliot/bench/page"
)

// Plot is a plot with a row or a curve for each series.
type Plot struct {
	Title, Unit string               // above the plot
	X           string               // below the axis of curves
	Number      func(float64) string // formats a number on that axis
	Kinds       []string             // names of the bars of a row
	Series      []Series
}

// Series has the values of one implementation.
type Series struct {
	Name   string
	Ours   bool
	Main   bool      // it has a thick curve
	X      []float64 // of a curve
	Values []float64 // of the points of a curve, or one for each kind; NaN: none
	Texts  []string  // next to each bar
}

// Known returns the number of known values of the series with most of them.
func (p *Plot) Known() (most int) {
	for _, s := range p.Series {
		known := slices.DeleteFunc(slices.Clone(s.Values), math.IsNaN)
		most = max(most, len(known))
	}
	return most
}

const (
	width    = vg.Length(600)
	legend   = vg.Length(165) // to the right of curves
	barWidth = vg.Length(10)
	rowGap   = vg.Length(8)
)

// The colours can be distinguished by colour-blind readers (Okabe and Ito).
var (
	palette = []color.Color{rgb(0x0072b2), rgb(0x009e73), rgb(0xb0892a), rgb(0xcc79a7), rgb(0x56b4e9), rgb(0x4d4d4d), rgb(0x7a5cc4)}
	ourHue  = rgb(0xd55e00)
	shades  = map[bool][]color.Color{
		false: {rgb(0x9fb8cc), rgb(0x5c88ad), rgb(0x2f5573)},
		true:  {rgb(0xf0b48a), rgb(0xe08344), rgb(0xd55e00)},
	}
)

var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

func rgb(hex uint32) color.Color {
	return color.RGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff} //nolint:gosec // bytes of a number
}

// scale is a logarithmic scale. A value that it cannot show is at its low end.
type scale struct{ plot.LogScale }

func (s scale) Normalize(low, high, x float64) float64 {
	return s.LogScale.Normalize(low, high, max(x, low))
}

// logarithmic makes an axis logarithmic, from a power of ten below the values
// above 0 to one above them.
func logarithmic(a *plot.Axis, values []float64, write func(float64) string) {
	values = slices.DeleteFunc(values, func(v float64) bool { return !(v > 0) }) // NaN too
	a.Min, a.Max = math.Pow(10, math.Floor(math.Log10(slices.Min(values)))), math.Pow(10, math.Ceil(math.Log10(slices.Max(values))))
	a.Scale, a.Tick.Marker = scale{}, plot.TickerFunc(func(low, high float64) []plot.Tick {
		ticks := plot.LogTicks{}.Ticks(low, high)
		for i := range ticks {
			if !ticks[i].IsMinor() {
				ticks[i].Label = write(ticks[i].Value)
			}
		}
		return ticks
	})
}

// values returns the values of all series.
func (p *Plot) values() (all []float64) {
	for _, s := range p.Series {
		all = append(all, s.Values...)
	}
	return all
}

func (p *Plot) empty() *plot.Plot {
	plot.DefaultFont = sans
	to := plot.New()
	to.Title.Text, to.Title.Padding, to.Title.TextStyle.Font.Size = p.Title+"\n"+p.Unit, 10, 11
	to.X.Label.Text = p.X
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = rgb(0xd1d9e0), rgb(0xd1d9e0)
	to.Add(grid)
	return to
}

// Curves draws a curve for each series, on two logarithmic axes.
func (p *Plot) Curves() ([]byte, error) {
	to, names, hue := p.empty(), plot.NewLegend(), 0
	for _, s := range p.Series {
		var points plotter.XYs
		for i, v := range s.Values {
			if v > 0 {
				points = append(points, plotter.XY{X: s.X[i], Y: v})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", p.Title, err)
		}
		line.Color, line.Width, dots.Shape, dots.Radius = ourHue, 1.4, draw.CircleGlyph{}, 2.5
		switch {
		case s.Main:
			line.Width = 2.6
		case s.Ours:
			line.Dashes = []vg.Length{5, 3}
		default:
			line.Color = palette[hue%len(palette)]
			hue++
		}
		dots.Color = line.Color
		to.Add(line, dots)
		names.Add(s.Name, line, dots)
	}
	logarithmic(&to.X, p.Series[0].X, p.Number)
	logarithmic(&to.Y, p.values(), page.Figure)
	names.Top, names.Left, names.YOffs, names.Padding = true, true, -40, 4
	return svg(330, func(c draw.Canvas) {
		to.Draw(draw.Crop(c, 5, -legend, 5, -5))
		names.Draw(draw.Crop(c, width-legend+8, 0, 0, 0))
	})
}

// Bars draws a row of bars for each series, from 0 or on a logarithmic axis.
func (p *Plot) Bars(log bool) ([]byte, error) {
	to, kinds, rows, names := p.empty(), len(p.Kinds), len(p.Series), plot.NewLegend()
	titles := make([]string, rows)
	for i, s := range p.Series {
		y := float64(rows - 1 - i)
		titles[rows-1-i] = s.Name
		for k, v := range s.Values {
			offset := (vg.Length(kinds-1)/2 - vg.Length(k)) * barWidth
			bar, err := plotter.NewBarChart(plotter.Values{known(v)}, barWidth-1)
			if err != nil {
				return nil, fmt.Errorf("draw %s: %w", p.Title, err)
			}
			bar.Horizontal, bar.XMin, bar.Offset, bar.LineStyle.Width, bar.Color = true, y, offset, 0, shade(s.Ours, k, kinds)
			text, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: known(v), Y: y}}, Labels: s.Texts[k : k+1]})
			if err != nil {
				return nil, fmt.Errorf("label %s: %w", p.Title, err)
			}
			text.Offset = vg.Point{X: 3, Y: offset}
			text.TextStyle[0].YAlign, text.TextStyle[0].Font = draw.YCenter, font.From(sans, 8)
			to.Add(bar, text)
			if i == 0 && kinds > 1 {
				names.Add(p.Kinds[k], bar)
			}
		}
	}
	if log {
		logarithmic(&to.X, p.values(), page.Figure)
	}
	to.NominalY(titles...)
	to.Y.Min, to.Y.Max = -0.6, float64(rows)-0.4
	names.Left, names.XOffs = true, 10
	below := vg.Length(kinds) * 14
	return svg(vg.Length(rows)*(vg.Length(kinds)*barWidth+rowGap)+70+below, func(c draw.Canvas) {
		to.Draw(draw.Crop(c, 5, -5, below, -5))
		names.Draw(c)
	})
}

// known returns 0 for an unknown value.
func known(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// shade returns the colour of bar k of n. A single bar has the second strongest
// colour.
func shade(ours bool, k, n int) color.Color {
	if n == 1 {
		k = 1
	}
	return shades[ours][k%3]
}

// svg returns a picture of a height.
func svg(height vg.Length, paint func(draw.Canvas)) ([]byte, error) {
	canvas := vgsvg.New(width, height)
	c := draw.New(canvas)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	paint(c)
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("write the picture: %w", err)
	}
	// Arial has the same widths, for readers without Liberation Sans.
	return bytes.ReplaceAll(out.Bytes(), []byte("Liberation Sans"), []byte("Liberation Sans,Arial,Helvetica,sans-serif")), nil
}
