package flags

import (
	"errors"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

// CheckName refuses a name that no record of that kind can have, for commands that
// send it to no server, or send it late. An error names place, the flag or argument
// of the name.
func CheckName(place, kind, name string) error {
	var field *task.FieldError
	if errors.As(task.ValidateName(kind, name), &field) {
		return usage.Errorf(place, "%q: %s", name, field.Detail)
	}
	return nil
}
