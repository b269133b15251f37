// Package story prints the events of an example, with the time since its start.
package story

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Start begins a story. The function that it returns prints one line of it, and
// is safe for concurrent use.
func Start(out io.Writer) func(format string, args ...any) {
	var mu sync.Mutex // one line at a time
	start := time.Now()
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(out, "%4.1f s  %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
	}
}
