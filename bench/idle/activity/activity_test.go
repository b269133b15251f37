package activity

import (
	"testing"
	"time"

	"github.com/foliot/foliot/bench/idle/guard"
)

func TestEveryGuardIsMeasuredInEveryWay(t *testing.T) {
	var names []string
	for i := range guard.All {
		names = append(names, guard.All[i].Name)
	}
	var costs []Cost
	if err := new(Meter).Measure(Config{Guards: names, Window: time.Millisecond, Trials: 3}, &costs); err != nil {
		t.Fatal(err)
	}
	if len(costs) != 4*len(names) {
		t.Fatalf("%d costs", len(costs))
	}
	for _, c := range costs {
		if c.Nanos <= 0 {
			t.Errorf("%+v", c)
		}
	}
}
