package api

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/foliot/foliot/internal/wire"
)

// readExpectation returns the number of tasks that a change by filter must find,
// or nil for any number.
func readExpectation(q url.Values) (*int, error) {
	if !q.Has(expectParam.name) {
		return nil, nil
	}
	n, err := strconv.Atoi(q.Get(expectParam.name))
	if err != nil || n < expectParam.low || n > expectParam.high {
		return nil, refuse("bad_parameter", expectParam.name, fmt.Sprintf("must be a number between %d and %d", expectParam.low, expectParam.high))
	}
	return &n, nil
}

// differs returns an error if the number of tasks is not the expected one.
func differs(want *int, found int) error {
	if want != nil && found != *want {
		return &countError{want: *want, found: found}
	}
	return nil
}

// countError reports that the number of matching tasks differs from the
// expected one.
type countError struct{ want, found int }

func (e *countError) Error() string {
	return fmt.Sprintf("%d tasks match, not %d: nothing was changed", e.found, e.want)
}

func (e *countError) problem() wire.Problem {
	p := newProblem("count_differs", e.Error(), expectParam.name)
	p.Count = &e.found
	return p
}
