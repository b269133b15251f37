package scale

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/test/battery/harness"
	"github.com/foliot/foliot/test/battery/verify"
)

func TestADrainOutOfOrderFails(t *testing.T) {
	for displaced, fails := range map[int]bool{harness.MaxInFlight: false, harness.MaxInFlight + 1: true} {
		var out strings.Builder
		tr := &harness.Run{Out: &out}
		mustKeepOrder(tr, verify.NumberedVerdict{Displaced: []int{0, displaced}})
		if tr.Failed != fails {
			t.Errorf("%d places away: failed is %v: %s", displaced, tr.Failed, out.String())
		}
	}
}

func TestMemoryThatGrowsWithTheBacklogIsNotFlat(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		small, large int64
		flat         bool
	}{{100 * mb, 100 * mb, true}, {100 * mb, 150 * mb, true}, {100 * mb, 200 * mb, false}, {200 * mb, 1000 * mb, false}} {
		if flat(c.small, c.large) != c.flat {
			t.Errorf("from %d MB to %d MB: flat is %v", c.small/mb, c.large/mb, !c.flat)
		}
	}
}
