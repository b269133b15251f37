package api

import (
	"reflect"
	"slices"
	"strings"

	"github.com/foliot/foliot/internal/spelling"
	"github.com/foliot/foliot/internal/wire"
)

// The fields that a client can set. They serve to correct typing errors.
var (
	requestFields  = fieldsOf[wire.HTTPInput]("")
	retryFields    = fieldsOf[wire.Retry]("")
	taskFieldNames = slices.Concat(fieldsOf[wire.TaskInput](""), fieldsOf[wire.HTTPInput]("http."), fieldsOf[wire.Retry]("retry."))
	queueFields    = slices.Concat(fieldsOf[wire.QueueInput](""), fieldsOf[wire.Retry]("retry."))
	scheduleFields = slices.Concat(fieldsOf[wire.ScheduleInput](""), under("task.", taskFieldNames))
)

// fieldsOf returns the names of T's fields in JSON, below a path.
func fieldsOf[T any](path string) []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return under(path, names)
}

func under(path string, names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = path + name
	}
	return all
}

// noSuchField refuses a field that none of the known ones is, and suggests the
// nearest one, if there is one.
func noSuchField(key []byte, known []string) error {
	detail := "no such field"
	if near := spelling.Nearest(string(key), known); near != "" {
		detail += "; did you mean " + near + "?"
	}
	return refuse("unknown_field", "", detail)
}
