package task

import (
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
