package flags

import (
	"reflect"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/usage"
)

// Filter select tasks, to list them or to change many at once.
type Filter struct {
	Queue       string   `group:"filter" placeholder:"NAME" help:"Only tasks of this queue."`
	State       []string `group:"filter" placeholder:"STATE" help:"Only tasks in this state: scheduled, held (scheduled, in a queue that is paused or a namespace that is suspended), running, delivered, cancelled, expired, dead. Repeat it to select several states."`
	Reason      string   `group:"filter" placeholder:"REASON" help:"Only dead, expired or cancelled tasks with this reason: attempts_exhausted, max_age_exceeded, gone, no_retry, egress_denied, reclaims_exhausted, purged …"`
	Label       []string `group:"filter" sep:"none" placeholder:"KEY=VALUE" help:"Only tasks with this label. If repeated, all labels must match."`
	Schedule    string   `group:"filter" placeholder:"NAME" help:"Only tasks that this schedule created."`
	Prefix      string   `group:"filter" placeholder:"TEXT" help:"Only tasks whose names begin with this."`
	DueBefore   string   `group:"filter" placeholder:"TIME" help:"Only tasks due before this time: 2030-01-02T15:04:05Z, or a duration from now (10m, 0s)."`
	DueAfter    string   `group:"filter" placeholder:"TIME" help:"Only tasks due after this time: 2030-01-02T15:04:05Z, or a duration from now (10m, -1h)."`
	EndedAfter  string   `group:"filter" placeholder:"TIME" help:"Only tasks that have ended, after this time: 2030-01-02T15:04:05Z, a local time (00:00), or a duration from now (-1h)."`
	EndedBefore string   `group:"filter" placeholder:"TIME" help:"Only tasks that have ended, before this time."`
	Destination string   `group:"filter" placeholder:"HOST:PORT" help:"Only tasks for this destination: host:port, or kind/ and the name of a kind."`
	Contains    string   `group:"filter" placeholder:"TEXT" help:"Only tasks whose names contain this, in upper or lower case. Of several words, such as 'order 42', a name contains each."`
}

// Given reports whether any of the flags is set.
func (f Filter) Given() bool {
	return !reflect.ValueOf(f).IsZero()
}

// Resolve returns the filter that the flags describe.
func (f Filter) Resolve(now time.Time) (chosen client.Filter, err error) {
	chosen.Queue, chosen.Reason, chosen.Schedule, chosen.Prefix = f.Queue, f.Reason, f.Schedule, f.Prefix
	chosen.Destination, chosen.Contains = f.Destination, f.Contains
	for _, s := range f.State {
		chosen.States = append(chosen.States, client.State(s))
	}
	if chosen.Labels, err = ParseLabels(f.Label); err != nil {
		return chosen, err
	}
	if chosen.DueBefore, err = ParseNext("--due-before", f.DueBefore, now, now); err != nil {
		return chosen, err
	}
	if chosen.DueAfter, err = ParseNext("--due-after", f.DueAfter, now, now); err != nil {
		return chosen, err
	}
	if chosen.EndedAfter, err = ParseBound("--ended-after", f.EndedAfter, now); err != nil {
		return chosen, err
	}
	chosen.EndedBefore, err = ParseBound("--ended-before", f.EndedBefore, now)
	return chosen, err
}

// ParseLabels parses pairs of the form key=value.
func ParseLabels(labels []string) (map[string]string, error) {
	return pairs("--label", "KEY=VALUE", "=", labels)
}

// pairs parses the values of a flag, each two words around a separator.
func pairs(flag, form, separator string, given []string) (map[string]string, error) {
	var parsed map[string]string
	for _, pair := range given {
		key, value, ok := strings.Cut(pair, separator)
		if flag == "--header" {
			key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		}
		if !ok || key == "" {
			return nil, usage.Errorf(flag, "%q is not of the form %s", pair, form)
		}
		if _, twice := parsed[key]; twice {
			return nil, usage.Errorf(flag, "%q is given twice", key)
		}
		if parsed == nil {
			parsed = make(map[string]string, len(given))
		}
		parsed[key] = value
	}
	return parsed, nil
}
