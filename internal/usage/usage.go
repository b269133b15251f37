package usage

import (
	"errors"
	"fmt"
	"io/fs"
)

// Errorf returns an Error about the flag, variable or argument with that name.
func Errorf(name, format string, args ...any) error {
	return &Error{name, fmt.Sprintf(format, args...)}
}

// AboutFile returns an Error about the file that an argument names. Its text
// begins with the path, not with the name of the argument, and names no
// operation. err can be a *fs.PathError.
func AboutFile(path string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	return &Error{FileName(path), err.Error()}
}

// FileName returns a path as errors name it.
func FileName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path
}

// Error reports an invalid flag, variable or argument. Name is empty if Reason
// names a file.
type Error struct{ Name, Reason string }

func (e *Error) Error() string {
	if e.Name == "" {
		return e.Reason
	}
	return e.Name + ": " + e.Reason
}

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
