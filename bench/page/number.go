package page

import (
	"fmt"
	"math"
	"strconv"
)

// Missing replaces a missing number.
const Missing = "–"

// Figure formats a number with about three digits.
func Figure(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return Missing
	case a < 0.005:
		return "0"
	case a < 0.095:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case a < 9.95:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return Count(int(math.Round(x)))
}

// Count formats a whole number, with non-breaking spaces between thousands.
func Count(n int) string {
	digits := strconv.Itoa(n)
	if n < 10_000 && n > -10_000 {
		return digits
	}
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u00a0" + digits[i:]
	}
	return digits
}

// Plural formats a number and a noun.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", Count(n), noun)
}
