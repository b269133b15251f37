package activity

import (
	"testing"
	"time"

	"github.com/foliot/foliot/bench/idle/guard"
	"github.com/foliot/foliot/bench/record"
)

func TestEveryGuardIsMeasuredInEveryWay(t *testing.T) {
	var names []string
	for i := range guard.All {
		names = append(names, guard.All[i].Name)
	}
	var costs []record.Result
	if err := new(Meter).Measure(Config{Guards: names, Window: time.Millisecond, Trials: 3}, &costs); err != nil {
		t.Fatal(err)
	}
	if len(costs) != 4*len(names) {
		t.Fatalf("%d costs", len(costs))
	}
	for _, c := range costs {
		if c.Values[record.WallNanos] <= 0 {
			t.Errorf("%+v", c)
		}
	}
}
