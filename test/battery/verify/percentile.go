package verify

import (
	"cmp"
)

// Percentile returns the p-th percentile of an ascending list, and 0 if the
// list is empty.
func Percentile[T cmp.Ordered](sorted []T, p float64) T {
	var zero T
	if len(sorted) == 0 {
		return zero
	}
	i := int(p / 100 * float64(len(sorted)))
	return sorted[min(i, len(sorted)-1)]
}
