package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/wire"
)

// ScheduleLine is a schedule as a line of export and import: the body of a PUT
// with the name. A line with a field "task" is a schedule.
type ScheduleLine struct {
	Name string
	Spec client.ScheduleSpec
}

// MarshalJSON writes the line.
func (l ScheduleLine) MarshalJSON() ([]byte, error) {
	spec, err := l.Spec.MarshalJSON()
	if err != nil {
		return nil, err
	}
	name, err := json.Marshal(l.Name)
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{[]byte(`{"name":`), name, []byte(","), spec[1:]}, nil), nil
}

// LineOf returns the line that creates s again.
func LineOf(s *client.Schedule) ScheduleLine {
	l := ScheduleLine{s.Name, s.ScheduleSpec}
	paused := s.State == client.SchedulePaused
	l.Spec.Paused = &paused
	return l
}

// scheduleToMove returns the line that creates s on another server and keeps
// the number of its runs.
func scheduleToMove(s *client.Schedule) ScheduleLine {
	l := LineOf(s)
	runs := s.Runs
	if !s.WaitingAt.IsZero() { // the waiting run is counted in Runs, but it is not exported
		runs--
	}
	l.Spec.SetRuns = max(runs, 0)
	l.Spec.Task.HTTP, l.Spec.Task.Work.Args = onOneLine(l.Spec.Task.HTTP), argsOnOneLine(l.Spec.Task.Work.Args)
	return l
}

// isSchedule reports whether a line is a schedule. For most tasks the substring
// search already rules it out.
func isSchedule(text []byte) bool {
	if !bytes.Contains(text, []byte(`"task"`)) {
		return false
	}
	var has struct {
		Task json.RawMessage `json:"task"`
	}
	return json.Unmarshal(text, &has) == nil && has.Task != nil
}

// readSchedule parses a line. It refuses unknown fields, because the client
// would not send them to the server.
func readSchedule(text []byte) (l ScheduleLine, err error) {
	var in struct {
		Name string `json:"name"`
		wire.ScheduleInput
	}
	known := json.NewDecoder(bytes.NewReader(text))
	known.DisallowUnknownFields()
	if err := known.Decode(&in); err != nil {
		return l, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if in.Name == "" {
		return l, errors.New("name: it is missing, and a schedule needs one")
	}
	l.Name = in.Name
	return l, json.Unmarshal(text, &l.Spec)
}

// PutSchedule creates or changes a schedule. If the namespace's rate is
// exceeded, it retries until there is room or ctx ends.
func PutSchedule(ctx context.Context, api *client.Client, l ScheduleLine, conds ...client.CallOption) (s *client.Schedule, err error) {
	err = console.WithinRate(ctx, func() error { s, err = api.Schedules.Put(ctx, l.Name, l.Spec, conds...); return err })
	return s, err
}

// createSchedule creates the schedule of a batch, unless the name is taken.
func (im *importer) createSchedule(ctx context.Context, b importBatch) error {
	_, err := PutSchedule(ctx, im.api, *b.schedule, client.IfNoneMatch())
	var refused *client.Error
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil || errors.Is(err, client.ErrPrecondition):
		im.mu.Lock()
		if err == nil {
			im.total.Schedules++
		} else {
			im.total.Skipped++
		}
		im.mu.Unlock()
	case errors.As(err, &refused) && exit.RefusalCode(refused) == exit.Usage:
		im.report(BadLine{Line: b.numbers[0], Code: refused.Code, Detail: wording.Shorten(refused.Message())})
	default:
		return fmt.Errorf("%s: %w", b.lines(), exit.WithOp(err, "import "+b.schedule.Name))
	}
	im.bar.Add(1)
	return nil
}
