package life

import (
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/test/battery/harness"
)

func TestTheTableAndTheResultsHaveTheCostOfOneTask(t *testing.T) {
	var out strings.Builder
	l := &life{Environment: &harness.Environment{Run: &harness.Run{Out: &out}}}
	l.add(row{name: "create", tasks: 1000, server: 90 * time.Millisecond, peer: 123 * time.Millisecond, written: 1500})
	if len(l.Run.Figures) != 3 || l.Run.Figures[0].Value != 90 || l.Run.Figures[2].Value != 1.5 {
		t.Errorf("the results are %+v", l.Run.Figures)
	}
	l.printTable()
	if want := "| create | 90.0 | – | 123 | 1.5 | – |\n"; !strings.Contains(out.String(), want) {
		t.Errorf("the table is %q, without %q", out.String(), want)
	}
}
