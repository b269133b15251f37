// Package timespan reads and writes durations in the form of Go, with days.
package timespan

import (
	"cmp"
	"errors"
	"math"
	"regexp"
	"strings"
	"time"
)

var (
	withDays   = regexp.MustCompile(`^([-+]?)([0-9.]+)d([0-9.].*)?$`)
	errInvalid = errors.New("write a number and a unit, such as 90s, 1h30m or 3d; the units are d, h, m, s and ms")
)

// Parse returns the duration that text describes, in the form of
// time.ParseDuration. A number of days can come first: 3d, 1d12h. A day is 24
// hours. The error names the form, and does not quote the text.
func Parse(text string) (time.Duration, error) {
	if !strings.Contains(text, "d") {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, errInvalid
		}
		return d, nil
	}
	parts := withDays.FindStringSubmatch(text)
	if parts == nil || parts[3] == "0" {
		return 0, errInvalid
	}
	sign, rest := parts[1], cmp.Or(parts[3], "0s")
	hours, err := time.ParseDuration(sign + parts[2] + "h")
	d, errOfRest := time.ParseDuration(sign + rest)
	sum := 24*hours + d
	overflows := hours.Abs() > math.MaxInt64/24 || sum != 0 && (sum < 0) != (sign == "-")
	if err != nil || errOfRest != nil || overflows {
		return 0, errInvalid
	}
	return sum, nil
}

// Text returns d in the form of its String method, without units that are zero:
// 30m, 1h30m, 24h, 0s.
func Text(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return strings.Replace(text, "h0m", "h", 1)
}
