package timespan

import (
	"math"
	"testing"
	"time"
)

func TestADayIs24Hours(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"3d": 72 * time.Hour, "1d12h": 36 * time.Hour, "1.5d": 36 * time.Hour, ".5d": 12 * time.Hour, "0d": 0, "+2d": 48 * time.Hour, "-1d": -24 * time.Hour,
		"-1d12h30m": -(36*time.Hour + 30*time.Minute), "1d1ms": 24*time.Hour + time.Millisecond, "106751d": 106751 * 24 * time.Hour,
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "0": 0, "-2h": -2 * time.Hour, "250ms": 250 * time.Millisecond, "1d0s": 24 * time.Hour,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestAnotherFormIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "d", "-d", "1", "1d0", "1d1", "1h1d", "1d1d", "1d-1h", "1d+1h", "1d 1h", "1 d", "1D", "1dh", "1d.", "..d", "1.2.3d", "--1d", "1w", "3 days", "1days", "soon",
		"106752d", "-106752d", "106751d24h", "-106751d24h", "99999999999999d", "1h2d", "1e3d", "0x1d",
	} {
		if d, err := Parse(text); err == nil {
			t.Errorf("%q is %v", text, d)
		}
	}
}

func TestATextHasNoUnitThatIsZero(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 30 * time.Minute: "30m", time.Hour: "1h", 24 * time.Hour: "24h", 90 * time.Minute: "1h30m", time.Hour + time.Second: "1h1s", 10 * time.Second: "10s",
		time.Hour + 30*time.Second: "1h30s", 20 * time.Minute: "20m", 100 * time.Hour: "100h", time.Minute + 500*time.Millisecond: "1m0.5s", -30 * time.Minute: "-30m",
		1500 * time.Millisecond: "1.5s", 2 * time.Microsecond: "2µs", time.Hour + time.Millisecond: "1h0.001s", 10*time.Hour + 10*time.Minute: "10h10m",
	} {
		if got := Text(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// The text of a duration is read as the same duration.
func FuzzParseIsTheInverseOfText(f *testing.F) {
	for _, d := range []time.Duration{0, 1, -1, time.Hour, 100*time.Hour + 1, math.MaxInt64, math.MinInt64} {
		f.Add(int64(d))
	}
	f.Fuzz(func(t *testing.T, n int64) {
		d := time.Duration(n)
		if got, err := Parse(Text(d)); err != nil || got != d {
			t.Errorf("%v is written %q, which is %v, %v", d, Text(d), got, err)
		}
	})
}
