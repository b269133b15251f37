package api

import (
	"fmt"
	"hash/maphash"
	"net/url"
	"slices"
	"strconv"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/wire"
)

// expectation is how many tasks a change by filter must find, and, once they are
// counted, which ones they were: a task that begins to match after the count is
// not changed. A nil *expectation expects nothing, and every task passes.
type expectation struct {
	want  int
	found int

	// seen has a hash of each name, in order. Two names with one hash are of no
	// consequence: a task that was not counted is changed, once in 2^44 at a
	// million tasks.
	seen []uint64
	seed maphash.Seed
}

// readExpectation reads the expected count of a query, nil if it has none.
func readExpectation(q url.Values) (*expectation, error) {
	if !q.Has(expectParam.name) {
		return nil, nil
	}
	n, err := strconv.Atoi(q.Get(expectParam.name))
	if err != nil || n < expectParam.low || n > expectParam.high {
		return nil, refuse("bad_parameter", expectParam.name, fmt.Sprintf("expect is a number between %d and %d", expectParam.low, expectParam.high))
	}
	return &expectation{want: n, seed: maphash.MakeSeed()}, nil
}

// size returns how many bytes the hashes may take.
func (e *expectation) size() int {
	if e == nil {
		return 0
	}
	return 8 * e.want
}

// count counts a page of tasks that match.
func (e *expectation) count(tasks []*task.Task) {
	e.found += len(tasks)
	if e.found > e.want {
		e.seen = nil // the request will be refused
		return
	}
	if e.seen == nil {
		e.seen = make([]uint64, 0, e.want)
	}
	for _, t := range tasks {
		e.seen = append(e.seen, maphash.String(e.seed, t.Name))
	}
}

// differs ends the count. It returns an error if another number was found.
func (e *expectation) differs() error {
	if e.found != e.want {
		return &countError{want: e.want, found: e.found}
	}
	slices.Sort(e.seen)
	return nil
}

// keep drops the tasks that were not counted from a page.
func (e *expectation) keep(page []*task.Task) []*task.Task {
	if e == nil {
		return page
	}
	return slices.DeleteFunc(page, func(t *task.Task) bool {
		_, counted := slices.BinarySearch(e.seen, maphash.String(e.seed, t.Name))
		return !counted
	})
}

// countError says that a filter matches another number of tasks than expected.
type countError struct{ want, found int }

func (e *countError) Error() string {
	return fmt.Sprintf("%d tasks match, not %d: nothing was changed", e.found, e.want)
}

func (e *countError) problem() wire.Problem {
	p := newProblem("count_differs", e.Error(), expectParam.name)
	p.Count = &e.found
	return p
}
