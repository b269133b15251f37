package flags

import (
	"errors"
	"strings"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

// CheckName refuses a name that no record of that kind can have, before a
// request is sent. An error names place, the flag or argument of the name.
func CheckName(place, kind, name string) error {
	return nameError(place, name, task.ValidateName(kind, name))
}

// nameError returns the error for a name that was not accepted, or nil if err
// is nil.
func nameError(place, name string, err error) error {
	if err == nil {
		return nil
	}
	detail := err.Error()
	var field *task.FieldError
	if errors.As(err, &field) {
		detail = field.Detail // without the field: place says it
	}
	return usage.Errorf(place, "%q: %s", name, detail)
}

// CheckNames refuses names that no task can have, before a request is sent.
func CheckNames(names []string) error {
	for _, name := range names {
		// Only the names of occurrences contain an @.
		if err := nameError("NAME", name, task.ValidateName("name", strings.ReplaceAll(name, "@", "."))); err != nil {
			return err
		}
	}
	return nil
}
