package api

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	documented = regexp.MustCompile(durationPattern)
	digit      = regexp.MustCompile(`[0-9]`)
)

// agree checks that the pattern in OpenAPI accepts the same texts as the
// parser. The pattern does not know which durations are too long.
func agree(t *testing.T, s string) {
	t.Helper()
	_, err := parseDuration("", s)
	switch matched := documented.MatchString(s); {
	case err == nil && !matched:
		t.Errorf("the parser takes %q, the pattern does not", s)
	case err != nil && matched:
		if _, err := time.ParseDuration(digit.ReplaceAllString(s, "0")); err != nil {
			t.Errorf("the pattern takes %q, the parser does not: %v", s, err)
		}
	}
}

var durations = strings.Fields(`0 +0 -0 00 0s 90s 1h30m 250ms 1.5h 1.h .5h . .s 1 1d 1w 1y -1s +1s --1s +-1s 1s-1s 5us 5µs 5μs 5ns
	1m1m 1ms1s 1hm h 1h1 1e3s 1_000s 0x1s 1S 1H ٣s 1,5s 9999999999h 9223372036854775807ns 9223372036854775808ns P1D PT1H soon`)

func FuzzTheDocumentedDurationIsTheParsers(f *testing.F) {
	for _, s := range append(durations, "", " 1s", "1s ", "1 s", "1s\n", "\n1s") {
		f.Add(s)
	}
	f.Fuzz(agree)
}
