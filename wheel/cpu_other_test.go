//go:build !unix

package wheel

import "time"

// cpuTime is not known on this system.
func cpuTime() time.Duration { return 0 }
