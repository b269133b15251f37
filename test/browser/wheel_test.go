package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"
)

// slot is one row of the table behind the wheel.
type slot struct {
	From, Until time.Time
	Count       int
}

// The wheel shows true counts: those of an export, while other tasks are created
// and delivered. Only slots after the next minutes are compared, because the near
// ones change between the two counts.
func TestTheCountsOfTheWheelEqualAnExport(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	receiver := newReceiver(t)
	now := time.Now()
	far := now.Add(10 * time.Minute)
	random := rand.New(rand.NewPCG(1, 2))
	create := func(prefix string, n int, due func() time.Time) {
		var tasks []object
		for i := range n {
			tasks = append(tasks, object{"name": fmt.Sprintf("%s-%d", prefix, i), "at": due().UTC().Format(time.RFC3339Nano), "http": object{"url": receiver + "/ok"}})
		}
		s.must("POST", "/v1/tasks/batch", object{"tasks": tasks}, nil)
	}
	b := open(t, s, "", viewports[0], "#/now")
	b.ready()
	for round := range 3 {
		create(fmt.Sprintf("far-%d", round), 900, func() time.Time {
			return far.Add(time.Duration(random.ExpFloat64() * float64(30*24*time.Hour)))
		})
		create(fmt.Sprintf("near-%d", round), 900, func() time.Time { return time.Now().Add(rand.N(3 * time.Second)) })
		exported := s.exportedAfter(far)
		if len(exported) != 900*(round+1) {
			t.Fatalf("the export has %d tasks", len(exported))
		}
		shown := shownAt(b, time.Now())
		compared := 0
		for _, row := range shown {
			if row.From.Before(far) {
				continue
			}
			want := 0
			for _, due := range exported {
				if !due.Before(row.From) && due.Before(row.Until) {
					want++
				}
			}
			if row.Count != want {
				t.Errorf("round %d: the wheel shows %d tasks from %s until %s, the export has %d", round, row.Count, row.From, row.Until, want)
			}
			compared++
		}
		if compared < 60 {
			t.Errorf("round %d: only %d slots were compared", round, compared)
		}
	}
}

// shownAt returns the rows of the table with counts of a time or later.
func shownAt(b *tab, at time.Time) []slot {
	b.t.Helper()
	b.await(fmt.Sprintf(`Date.parse(document.querySelector('.slot-counts')?.dataset.time) >= %d`, at.UnixMilli()))
	return eval[[]slot](b, `[...document.querySelectorAll('.slot-counts tbody tr')].map((r) => ({ From: r.querySelectorAll('time')[0].dateTime, Until: r.querySelectorAll('time')[1].dateTime, Count: Number(r.cells[3].textContent) }))`)
}

// exportedAfter returns the due times of the waiting tasks of an export that are due
// after a time.
func (s *server) exportedAfter(after time.Time) []time.Time {
	s.t.Helper()
	out, err := exec.Command(binary, "export", "--server", s.url).Output()
	noError(s.t, err)
	var found []time.Time
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var task struct{ At time.Time }
		if err := json.Unmarshal(lines.Bytes(), &task); err != nil {
			s.t.Fatalf("%q: %v", lines.Text(), err)
		}
		if task.At.After(after) {
			found = append(found, task.At)
		}
	}
	return found
}
