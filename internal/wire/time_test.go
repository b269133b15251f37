package wire_test

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

func TestFormatTimeWritesMillisecondsInUTC(t *testing.T) {
	zone := time.FixedZone("", -3*60*60)
	for _, at := range []time.Time{
		time.Unix(0, 0), time.Unix(1, 999_999_999).In(zone), time.Unix(-1, 1_000_000),
		{},
		time.Date(2030, 12, 31, 23, 59, 59, 90e6, zone),
		time.Date(9999, 12, 31, 23, 59, 59, 7e6, time.UTC), time.Date(12345, 1, 1, 0, 0, 0, 120e6, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, want := wire.FormatTime(at), at.UTC().Format("2006-01-02T15:04:05.000Z07:00"); got != want {
			t.Errorf("FormatTime(%v) = %q, want %q", at, got, want)
		}
	}
}
