package api

import (
	"reflect"
	"slices"
	"strings"

	"github.com/foliot/foliot/internal/spelling"
	"github.com/foliot/foliot/internal/wire"
)

// The fields that a client can set. They are the suggestions for misspelled
// ones.
var (
	requestFields   = fieldsOf[wire.HTTPInput]("")
	workFields      = fieldsOf[wire.WorkInput]("")
	retryFields     = fieldsOf[wire.Retry]("")
	taskFieldNames  = slices.Concat(fieldsOf[wire.TaskInput](""), fieldsOf[wire.HTTPInput]("http."), fieldsOf[wire.WorkInput]("work."), fieldsOf[wire.Retry]("retry."))
	queueFields     = slices.Concat(fieldsOf[wire.QueueInput](""), fieldsOf[wire.Retry]("retry."))
	namespaceFields = fieldsOf[wire.NamespaceInput]("")
	secretFields    = fieldsOf[wire.SecretInput]("")
	tokenFields     = fieldsOf[wire.TokenInput]("")
	ruleFields      = fieldsOf[wire.ScheduleRule]("")
	scheduleFields  = slices.Concat(fieldsOf[wire.ScheduleInput](""), under("task.", taskFieldNames))
)

// fieldsOf returns the JSON names of T's fields, prefixed with path.
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

// noSuchField refuses a field that is not one of known, and suggests the one
// that is spelled most like it.
func noSuchField(key []byte, known []string) error {
	detail := "unknown field"
	near := spelling.Nearest(string(key), known)
	if near != "" {
		detail += "; did you mean " + near + "?"
	}
	return suggest(refuse("unknown_field", "", detail), near)
}
