package decode

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/foliot/foliot/internal/task"
)

// nested is an error that prepends keys to its path itself.
type nested interface {
	error
	Within(key []byte) error
}

func refuse(code, detail string) error { return &task.FieldError{Code: code, Detail: detail} }

// Within prepends key to the path of err, if err is about a field.
func Within(key []byte, err error) error {
	if outer := nested(nil); errors.As(err, &outer) {
		return outer.Within(key)
	}
	var inner *task.FieldError
	if !errors.As(err, &inner) {
		return err
	}
	const longest = 128 // bytes of one key
	path := string(key)
	if len(path) > longest {
		path = strings.ToValidUTF8(path[:longest], "") + "…"
	}
	if !utf8.ValidString(path) {
		path = strings.ToValidUTF8(path, "\uFFFD")
	}
	switch {
	case inner.Path == "":
	case inner.Path[0] == '[':
		path += inner.Path
	default:
		path += "." + inner.Path
	}
	return &task.FieldError{Path: path, Code: inner.Code, Detail: inner.Detail}
}
