package verify

import (
	"fmt"
	"time"
)

// Examples shows the first few failures.
func Examples(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(": %v", list[:min(5, len(list))])
}

// Millis formats a duration in milliseconds.
func Millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// Offences counts failures, and keeps the first few as examples.
type Offences struct {
	Count int
	First []string
}

// Add counts one more, and keeps its text if it is among the first.
func (o *Offences) Add(format string, args ...any) {
	const shown = 5
	if o.Count++; o.Count <= shown {
		o.First = append(o.First, fmt.Sprintf(format, args...))
	}
}

func (o Offences) String() string { return fmt.Sprint(o.Count) + Examples(o.First) }
