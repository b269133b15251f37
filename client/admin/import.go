package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/client/internal/convert"
	"github.com/foliot/foliot/internal/wire"
)

// Imported is the result of one item of an import: either Err is set, or the
// other fields are.
type Imported struct {
	Name  string
	ID    string
	DueAt time.Time
	Err   error // a *client.Error: ErrExists if the name is taken; ErrRateLimited if the item may be sent again soon
}

// Import creates tasks that are encoded already, such as the lines of a file, in
// one request of at most 1000 tasks and 16 MiB. A refused task does not prevent
// the rest; results[i] is the result of items[i]. If an item is not valid JSON,
// the server refuses the whole request.
//
// The client does not repeat an import, because the tasks have no
// Idempotency-Key. If it returns an error, see client.MaybeApplied. Tasks with
// names can be imported again: those that exist are then refused.
func (a *Client) Import(ctx context.Context, items []json.RawMessage) (results []Imported, err error) {
	if len(items) == 0 {
		return nil, nil
	}
	const op = "import tasks"
	parts := make([][]byte, len(items))
	for i, item := range items {
		parts[i] = item
	}
	body := slices.Concat([]byte(`{"tasks":[`), bytes.Join(parts, []byte{','}), []byte(`]}`))
	var reply convert.BatchReply
	_, err = a.conn.Do(ctx, &conn.Call{Op: op, Method: http.MethodPost, Path: "/tasks/batch", Body: body, Into: &reply})
	var e *client.Error
	switch {
	case len(items) == 1 && errors.As(err, &e) && e.Code != "" && (e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge):
		return []Imported{{Err: err}}, nil
	case err != nil:
		return nil, err
	case len(reply.Results) != len(items):
		return nil, &client.Error{Op: op, Status: http.StatusOK, Detail: fmt.Sprintf("the server returned %d results for %d tasks", len(reply.Results), len(items)), MaybeApplied: true}
	}
	results = make([]Imported, len(items))
	for i, r := range reply.Results {
		if results[i], err = imported(r); err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
	}
	return results, nil
}

func imported(r wire.BatchResult) (Imported, error) {
	if r.Status >= http.StatusMultipleChoices {
		return Imported{Err: &client.Error{
			Status: r.Status, Code: r.Code, Detail: strings.TrimPrefix(r.Detail, r.Field+": "), Field: r.Field,
			ID: r.ID, State: client.State(r.State), Suggestion: r.Suggestion, Allowed: r.Allowed,
		}}, nil
	}
	at, err := convert.ReadInstant(r.DueAt)
	return Imported{Name: r.Name, ID: r.ID, DueAt: at}, err
}
