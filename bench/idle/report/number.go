package report

import (
	"time"

	"github.com/foliot/foliot/bench/page"
)

// more writes a difference.
func more(x float64) string {
	text := page.Figure(x)
	if x > 0 && text != "0" && text != page.Missing {
		return "+" + text
	}
	return text
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
