package bytesize

import "fmt"

// Text returns n in the largest of kB, MB, GB and TB in which it is at least one,
// with powers of 1000.
func Text(n int64) string {
	value, unit := float64(n)/1e3, 0
	for ; value >= 1e3 && unit < 3; unit++ {
		value /= 1e3
	}
	return fmt.Sprintf("%.1f %cB", value, "kMGT"[unit])
}
