package pebblestore

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliot/foliot/internal/task"
)

func TestKeysOfTheDueIndexSortByLaneThenTimeThenName(t *testing.T) {
	a := task.Lane{Namespace: "n", Queue: "q", Priority: task.Normal, Destination: "h:80"}
	b := a
	b.Priority = task.Low
	ordered := [][]byte{
		appendDueKey(nil, a, task.Position{Due: -5, Name: "z"}),
		appendDueKey(nil, a, task.Position{Due: 0, Name: "a"}),
		appendDueKey(nil, a, task.Position{Due: 1 << 40, Name: "a"}),
		appendDueKey(nil, a, task.Position{Due: 1 << 40, Name: "b"}),
		prefixEnd(appendLane(nil, a)),
		appendDueKey(nil, b, task.Position{Due: -5}),
	}
	if !slices.IsSortedFunc(ordered, bytes.Compare) {
		t.Errorf("not in order: %q", ordered)
	}
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[a-z0-9.:-]{0,12}`)
		lane := task.Lane{
			Namespace: part.Draw(t, "namespace"), Queue: part.Draw(t, "queue"),
			Priority: task.Priority(rapid.IntRange(0, 2).Draw(t, "priority")), Destination: part.Draw(t, "destination"),
		}
		at := task.Position{Due: task.Millis(rapid.Int64().Draw(t, "due")), Name: part.Draw(t, "name")}
		gotLane, gotAt, n, err := parseDueKey(appendDueKey(nil, lane, at))
		if err != nil || gotLane != lane || gotAt != at || n != len(appendLane(nil, lane)) {
			t.Fatalf("%v %v %d %v", gotLane, gotAt, n, err)
		}
	})
}
