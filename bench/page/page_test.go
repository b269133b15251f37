package page

import (
	"math"
	"strings"
	"testing"
)

func TestOnlyThoseThatTakePartCanBeBest(t *testing.T) {
	table := &Table{}
	table.Less("x", Figure, []float64{1, 3, 2, 2, math.NaN()}, 0)
	if got := strings.Join(table.Rows[0], " "); got != "x 1.0 3.0 **2.0** **2.0** –" {
		t.Error(got)
	}
	table.Less("nothing", Figure, []float64{math.NaN(), math.NaN()})
	if got := strings.Join(table.Rows[1], " "); got != "nothing – –" {
		t.Error(got)
	}
}

func TestNumbersAreReadable(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 0.004: "0", 0.04: "0.04", 1.26: "1.3", 9.96: "10", 1234.5: "1235", 12345: "12\u00a0345", -1234567: "-1\u00a0234\u00a0567", math.Inf(1): "–",
	} {
		if got := Figure(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

func TestMissedTargetsAreShown(t *testing.T) {
	table := Targets([]Target{
		Most("a", 1, 2, "ms"), Most("b", 3, 2, "ms"), Most("c", 1, 0, "of 9"), Most("d", math.NaN(), 2, "ms"), {"e", "", "5 ms", None},
	})
	const want = `| target | wanted | measured |  |
| --- | --: | --: | --: |
| a | ≤ 2 ms | 1.0 ms | reached |
| b | ≤ 2 ms | 3.0 ms | **not reached** |
| c | 0 | 1.0 of 9 | **not reached** |
| d | ≤ 2 ms | – | not measured |
| e |  | 5 ms |  |
`
	if got := table.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
