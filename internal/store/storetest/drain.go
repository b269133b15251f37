package storetest

import (
	"context"
	"fmt"

	"github.com/foliot/foliot/internal/task"
)

// drain lists page after page until there is no more, and checks what every
// page has to keep: its limit, its order, and that the cursor moves on.
func drain(ctx context.Context, s task.Store, filter task.Filter, page task.Page) ([]*task.Task, error) {
	var all []*task.Task
	for last := page.After; ; {
		l, err := s.List(ctx, filter, page)
		if err != nil {
			return nil, err
		}
		if len(l.Tasks) > page.Limit {
			return nil, fmt.Errorf("a page of %d tasks has %d", page.Limit, len(l.Tasks))
		}
		for _, t := range l.Tasks {
			if t.Name <= last {
				return nil, fmt.Errorf("%q is listed after %q: a listing is in the order of names, each once", t.Name, last)
			}
			last = t.Name
		}
		all = append(all, l.Tasks...)
		switch {
		case l.Next == "":
			return all, nil
		case l.Next <= page.After || l.Next < last:
			return nil, fmt.Errorf("the cursor %q after a page from %q to %q: it has to move on", l.Next, page.After, last)
		}
		page.After, last = l.Next, l.Next
	}
}
