package pgstore

import (
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// If the connection breaks before the reply, the write may have been made. An error of the
// server says that it was not.
func TestAWriteWithoutAReplyMayHaveBeenMade(t *testing.T) {
	spec := tasktest.Spec("a", 1000)
	made := &task.Task{Namespace: spec.Namespace, Name: spec.Name, State: task.Scheduled, Due: 1000}
	rows := []sqltask.Row{sqltask.Of(spec.Key, &sqltask.Record{}, made, 32)}
	for _, c := range []struct {
		endings []ending
		err     error
		want    int
	}{
		{[]ending{written}, nil, 1},
		{[]ending{written}, io.ErrUnexpectedEOF, 1},
		{nil, io.ErrUnexpectedEOF, 1},
		{[]ending{changed}, io.ErrUnexpectedEOF, 0},
		{nil, &pgconn.PgError{Code: lockTimeout}, 0},
	} {
		if got := entriesOf(rows, c.endings, c.err); len(got) != c.want {
			t.Errorf("%v, %v: %v", c.endings, c.err, got)
		}
	}
}
