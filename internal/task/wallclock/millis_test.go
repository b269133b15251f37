package wallclock

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMillisRounding(t *testing.T) {
	for _, c := range []struct {
		nanos       int64 // since the epoch
		ceil, floor Millis
	}{
		{0, 0, 0},
		{1, 1, 0},
		{999_999, 1, 0},
		{1_000_000, 1, 1},
		{1_000_001, 2, 1},
		{1_999_999, 2, 1},
		{1_800_000_000_000_000_001, 1_800_000_000_001, 1_800_000_000_000},
		{-1, 0, -1},
		{-1_000_000, -1, -1},
		{-1_000_001, -1, -2},
	} {
		at := time.Unix(0, c.nanos).In(time.FixedZone("east", 3600))
		if CeilMillis(at) != c.ceil || FloorMillis(at) != c.floor {
			t.Errorf("%d ns: up to %d, down to %d; want %d, %d", c.nanos, CeilMillis(at), FloorMillis(at), c.ceil, c.floor)
		}
	}
}

// time.Unix wraps too, so the test gives the seconds.
func TestATimeThatMillisCannotHoldSaturates(t *testing.T) {
	const edge = math.MaxInt64 / 1000
	for _, c := range []struct {
		seconds, nanos int64
		ceil, floor    Millis
	}{
		{edge - 1, 999_000_000, edge*1000 - 1, edge*1000 - 1},
		{edge - 1, 999_000_001, edge * 1000, edge*1000 - 1},
		{edge, 0, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64, 0, math.MaxInt64, math.MaxInt64},
		{math.MaxInt64, 999_999_999, math.MaxInt64, math.MaxInt64},
		{1 - edge, 0, 1000 - edge*1000, 1000 - edge*1000},
		{math.MinInt64, 0, math.MinInt64, math.MinInt64},
	} {
		at := time.Unix(c.seconds, c.nanos)
		if CeilMillis(at) != c.ceil || FloorMillis(at) != c.floor {
			t.Errorf("%d s and %d ns: up to %d, down to %d; want %d, %d", c.seconds, c.nanos, CeilMillis(at), FloorMillis(at), c.ceil, c.floor)
		}
	}
}

func TestMillisTimeIsExactAndUTC(t *testing.T) {
	at := time.Date(2026, 11, 20, 20, 0, 0, 250e6, time.UTC)
	if got := CeilMillis(at).Time(); !got.Equal(at) || got.Location() != time.UTC {
		t.Errorf("%v became %v", at, got)
	}
}

func TestMillisAddRoundsUp(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	for d, want := range map[time.Duration]Millis{
		0: 100, 1: 101, time.Millisecond: 101, time.Millisecond + 1: 102, -1: 100, -time.Millisecond: 99, -time.Millisecond - 1: 99,
		century: 100 + Millis(century/time.Millisecond),
	} {
		if got := Millis(100).Add(d); got != want {
			t.Errorf("100 + %v = %d, want %d", d, got, want)
		}
	}
}

// TestMillisArithmeticSaturates compares with numbers that cannot overflow.
func TestMillisArithmeticSaturates(t *testing.T) {
	edges := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1, math.MaxInt64 / 1_000_000, math.MinInt64 / 1_000_000, math.MaxInt64/1_000_000 + 1, 1 << 62, -1 << 62}
	number := rapid.OneOf(rapid.SampledFrom(edges), rapid.Int64())
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		difference := new(big.Int).Sub(big.NewInt(a), big.NewInt(b))
		if got, want := int64(Millis(a).Sub(Millis(b))), clamp(difference.Mul(difference, big.NewInt(1e6))); got != want {
			t.Fatalf("%d - %d = %d ns, want %d", a, b, got, want)
		}
		millis := b / 1e6
		if b > 0 && b%1e6 != 0 {
			millis++
		}
		if got, want := int64(Millis(a).Add(time.Duration(b))), clamp(new(big.Int).Add(big.NewInt(a), big.NewInt(millis))); got != want {
			t.Fatalf("%d + %d ns = %d, want %d", a, b, got, want)
		}
	})
}

func clamp(n *big.Int) int64 {
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}
