package tasks

import (
	"slices"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
)

func TestOrdersOfTasks(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	list := []*client.Task{
		{Spec: client.Spec{Name: "b"}, DueAt: at(3), CreatedAt: at(1)},
		{Spec: client.Spec{Name: "c"}, DueAt: at(1), CreatedAt: at(2)},
		{Spec: client.Spec{Name: "a"}, DueAt: at(2), CreatedAt: at(3)},
	}
	for order, want := range map[string]string{"due": "cab", "name": "abc", "created": "acb"} {
		slices.SortFunc(list, orders[order])
		if got := list[0].Name + list[1].Name + list[2].Name; got != want {
			t.Errorf("%s: got %s, want %s", order, got, want)
		}
	}
}
