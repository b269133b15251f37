package planner

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/task"
)

func TestALaneCountsOverdueTasks(t *testing.T) {
	for n := range 60 {
		l := &lane{}
		const now = task.Millis(1000)
		want, oldest := 0, time.Duration(0)
		for i := range n {
			due := task.Millis(rand.IntN(2000))
			l.order.push(&item{name: fmt.Sprint(i), due: due})
			if due <= now {
				want, oldest = want+1, max(oldest, now.Sub(due))
			}
		}
		if got, since := l.overdue(now); got != want || since != oldest {
			t.Fatalf("of %d: %d overdue for %v, want %d for %v", n, got, since, want, oldest)
		}
	}
}
