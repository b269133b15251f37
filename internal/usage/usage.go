package usage

import (
	"errors"
	"fmt"
)

// Errorf returns an error about a flag, a variable or an argument that the
// user gave; what names it.
func Errorf(what, format string, args ...any) error {
	return &Error{what, fmt.Sprintf(format, args...)}
}

// Error is what is wrong with a flag or an argument.
type Error struct{ What, Why string }

// Error names the flag or the argument first.
func (e *Error) Error() string { return e.What + ": " + e.Why }

// Parts returns the errors that err joins, itself where it joins none: each is told
// in a line of its own.
func Parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // what wraps a joined one has words for all
	switch {
	case err == nil:
		return nil
	case !ok || err.Error() != errors.Join(joined.Unwrap()...).Error(): // fmt.Errorf joins in a sentence
		return []error{err}
	}
	var all []error
	for _, part := range joined.Unwrap() {
		all = append(all, Parts(part)...)
	}
	return all
}
