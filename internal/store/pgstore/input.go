package pgstore

import (
	"fmt"
	"reflect"
	"strings"
)

// A statement takes its rows as an array for each column, so that its text and its plan are
// the same for any number of rows.

// inputOf returns the table u of a statement, which has the rows that columns returns in the
// arguments $1, $2 and so on, and their numbers, from 1, in the column ord. The planner does
// not see the arrays, because it would expect fewer rows than a kept plan does, and in a
// user's transaction it would plan a write for several milliseconds each time.
func inputOf[T any]() string {
	var args, names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if !f.IsExported() {
			continue
		}
		args = append(args, fmt.Sprintf("(SELECT $%d::%s[])", len(args)+1, types[strings.TrimPrefix(f.Type.String(), "*")]))
		names = append(names, strings.ToLower(f.Name))
	}
	return fmt.Sprintf("unnest(%s) WITH ORDINALITY AS u(%s, ord)", strings.Join(args, ", "), strings.Join(names, ", "))
}

var types = map[string]string{"bool": "bool", "int16": "smallint", "int32": "int", "int64": "bigint", "string": "text", "[]uint8": "bytea"}

// columns returns the columns of rows as arguments, and others after them.
func columns[T any](rows []T, others ...any) (args []any) {
	of, row := reflect.ValueOf(rows), reflect.TypeFor[T]()
	for f := range row.NumField() {
		if !row.Field(f).IsExported() {
			continue
		}
		column := reflect.MakeSlice(reflect.SliceOf(row.Field(f).Type), len(rows), len(rows))
		for i := range rows {
			column.Index(i).Set(of.Index(i).Field(f))
		}
		args = append(args, column.Interface())
	}
	return append(args, others...)
}
