package api

import (
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/foliot/foliot/internal/task"
)

// expectation is the number of tasks that a change by filter must find. After
// the count it knows which tasks were counted: a task that begins to match
// later is not changed. A nil *expectation accepts any number and every task.
type expectation struct {
	want  int
	found int

	// seen has a hash of each counted name, sorted. A collision is unlikely: with
	// a million tasks, a task that was not counted is changed with a probability
	// of 1 in 2^44.
	seen []uint64
	seed maphash.Seed
}

func (q query) expectation() *expectation {
	if !q.Has(expectParam.name) {
		return nil
	}
	return &expectation{want: q.number(expectParam, 0), seed: maphash.MakeSeed()}
}

func (e *expectation) count(tasks []*task.Task) {
	e.found += len(tasks)
	if e.found > e.want {
		e.seen = nil // the request will be refused
		return
	}
	for _, t := range tasks {
		e.seen = append(e.seen, maphash.String(e.seed, t.Name))
	}
}

// differs ends the count, with an error if the number of counted tasks is not
// the expected number.
func (e *expectation) differs() error {
	if e.found != e.want {
		return &countError{want: e.want, found: e.found}
	}
	slices.Sort(e.seen)
	return nil
}

// keep removes from a page the tasks that were not counted.
func (e *expectation) keep(page []*task.Task) []*task.Task {
	if e == nil {
		return page
	}
	return slices.DeleteFunc(page, func(t *task.Task) bool {
		_, counted := slices.BinarySearch(e.seen, maphash.String(e.seed, t.Name))
		return !counted
	})
}

// countError reports that the number of matching tasks differs from the
// expected one.
type countError struct{ want, found int }

func (e *countError) Error() string {
	return fmt.Sprintf("the number of matching tasks is %d, not %d: nothing was changed", e.found, e.want)
}
