package usage

import (
	"errors"
	"fmt"
)

// Errorf returns an Error about the flag, variable or argument with that name.
func Errorf(name, format string, args ...any) error {
	return &Error{name, fmt.Sprintf(format, args...)}
}

// Error reports an invalid flag, variable or argument.
type Error struct{ Name, Reason string }

// Error returns the name and the reason.
func (e *Error) Error() string { return e.Name + ": " + e.Reason }

// Parts returns the errors that err joins, or only err if it joins none. Each is
// printed on its own line.
func Parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // an error that wraps a joined one is printed as a whole
	switch {
	case err == nil:
		return nil
	case !ok || err.Error() != errors.Join(joined.Unwrap()...).Error(): // fmt.Errorf joins errors in one sentence
		return []error{err}
	}
	var all []error
	for _, part := range joined.Unwrap() {
		all = append(all, Parts(part)...)
	}
	return all
}
