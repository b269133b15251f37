package task

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestStatesAndPrioritiesRoundTrip(t *testing.T) {
	for s := range State(255) {
		if got, ok := ParseState(s.String()); ok != s.Valid() || ok && got != s {
			t.Errorf("state %d is %q, which is read as %d, %v", s, s, got, ok)
		}
		if s.Valid() && s.Live() == (s.Finished() || s == Dead) {
			t.Errorf("%v is live: %v, finished: %v", s, s.Live(), s.Finished())
		}
	}
	for p := range Priority(255) {
		if got, ok := ParsePriority(p.String()); ok != p.Valid() || ok && got != p {
			t.Errorf("priority %d is %q, which is read as %d, %v", p, p, got, ok)
		}
	}
	for _, word := range []string{"", "Scheduled", "State(1)", "held"} {
		if s, ok := ParseState(word); ok {
			t.Errorf("%q is read as %v", word, s)
		}
	}
}

func TestErrorsAreSentences(t *testing.T) {
	for err, want := range map[error]string{
		&StateError{Op: "touch", State: Dead, Code: CodeDead, Hint: "retry it first"}: "cannot touch a task that is dead: retry it first",
		&StateError{Op: "touch", State: Scheduled, Code: CodeNoDelay}:                 "cannot touch a task that has no delay",
		&FieldError{Path: "at", Detail: "too late"}:                                   "at: too late",
		&FieldError{Detail: "empty"}:                                                  "empty",
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

func TestPositionsOrderByDueThenName(t *testing.T) {
	order := []Position{{}, {0, "a"}, {1, ""}, {1, "a"}, {1, "b"}, {2, ""}}
	for i, a := range order {
		for j, b := range order {
			if a.Less(b) != (i < j) {
				t.Errorf("%v before %v: %v", a, b, a.Less(b))
			}
		}
	}
}

func TestFilters(t *testing.T) {
	waits := create(t, func(s *Spec) { s.Labels = map[string]string{"k": "v", "empty": ""} })
	for name, c := range map[string]struct {
		filter *Filter
		want   bool
	}{
		"nil":                  {nil, true},
		"zero":                 {&Filter{}, true},
		"namespace":            {&Filter{Namespace: "default"}, true},
		"another namespace":    {&Filter{Namespace: "x"}, false},
		"queue":                {&Filter{Queue: "default"}, true},
		"another queue":        {&Filter{Queue: "x"}, false},
		"one of the states":    {&Filter{States: []State{Dead, Scheduled}}, true},
		"another state":        {&Filter{States: []State{Dead}}, false},
		"labels":               {&Filter{Labels: map[string]string{"k": "v", "empty": ""}}, true},
		"another value":        {&Filter{Labels: map[string]string{"k": "x"}}, false},
		"a label it lacks":     {&Filter{Labels: map[string]string{"none": ""}}, false},
		"one label of two":     {&Filter{Labels: map[string]string{"k": "v", "none": ""}}, false},
		"due before, at it":    {&Filter{DueBefore: waits.Due}, false},
		"due before, after it": {&Filter{DueBefore: waits.Due + 1}, true},
		"due after, at it":     {&Filter{DueAfter: waits.Due}, false},
		"due after, before it": {&Filter{DueAfter: waits.Due - 1}, true},
	} {
		if got := c.filter.Match(waits); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPolicyDefaultsFillZeroFields(t *testing.T) {
	if got := (Policy{KeepDead: 5}).WithDefaults(); got != (Policy{KeepFinished: DefaultKeepFinished, KeepDead: 5}) {
		t.Errorf("%+v", got)
	}
}

// TestNoErrorMatchesAnother: one table maps errors to HTTP, so none may match
// another.
func TestNoErrorMatchesAnother(t *testing.T) {
	all := []error{ErrNotFound, ErrExists, ErrIdempotencyReuse, ErrPrecondition, ErrStale, ErrNotDue, ErrLaneChanged, ErrExpired, ErrFull, ErrNotDurable, ErrClosed}
	for i, a := range all {
		for j, b := range all {
			if errors.Is(a, b) != (i == j) {
				t.Errorf("%v is %v", a, b)
			}
		}
		if strings.TrimSpace(a.Error()) == "" || slices.Contains(all[:i], a) {
			t.Errorf("error %d: %v", i, a)
		}
	}
}
