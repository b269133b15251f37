package timing

import (
	"fmt"
	"os"
)

// Busy returns a function that returns the share of the time since then in which the
// processors of this machine worked.
func Busy() func() float64 {
	read := func() (idle, all float64) {
		data, _ := os.ReadFile("/proc/stat") // without it, the share is no number
		var cpu string
		var user, nice, system, rest, wait float64
		_, _ = fmt.Sscan(string(data), &cpu, &user, &nice, &system, &rest, &wait)
		return rest + wait, user + nice + system + rest + wait
	}
	idle, all := read()
	return func() float64 {
		i, a := read()
		return 1 - (i-idle)/(a-all)
	}
}
