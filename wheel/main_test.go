package wheel

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// howMany returns set if a flag sets it, and else one of the others: race is
// for runs under the race detector, if it is not zero.
func howMany(set, full, race, short int) int {
	switch {
	case set > 0:
		return set
	case raceEnabled && race > 0:
		return race
	case testing.Short():
		return short
	}
	return full
}
