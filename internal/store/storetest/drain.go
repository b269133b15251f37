package storetest

import (
	"context"
	"fmt"
	"slices"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// drain lists page after page to the end, and checks the contract of every
// page: its limit, its order, and that the cursor moves on.
func drain(ctx context.Context, s store.Store, filter task.Filter, page task.Page) ([]*task.Task, error) {
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

// drainEnded lists page after page of ended tasks, in the order of their ends.
func drainEnded(ctx context.Context, s store.Store, filter task.Filter, page task.Page) ([]*task.Task, error) {
	var all []*task.Task
	for {
		l, err := s.List(ctx, filter, page)
		all = append(all, l.Tasks...)
		switch {
		case err != nil:
			return nil, err
		case len(l.Tasks) > page.Limit, l.Next != "" && l.Next <= page.After:
			return nil, fmt.Errorf("a page of %d tasks with the cursor %q after %q", len(l.Tasks), l.Next, page.After)
		case l.Next == "":
			return all, nil
		}
		page.After = l.Next
	}
}

// DrainAll lists all records of a namespace: its schedules, and then its tasks.
func DrainAll(ctx context.Context, s store.Store, namespace string, page task.Page) ([]*task.Task, error) {
	bounded := page
	bounded.Before = task.FirstTaskName
	schedules, err := drain(ctx, s, task.Filter{Namespace: namespace, Queue: task.ScheduleQueue}, bounded)
	if err != nil {
		return nil, err
	}
	tasks, err := drain(ctx, s, task.Filter{Namespace: namespace}, page)
	return append(schedules, tasks...), err
}

// drainLog reads the audit log page by page and returns it with the oldest
// entry first. It checks the contract of every page.
func drainLog(ctx context.Context, s store.Store, f settings.AuditFilter, limit int) ([]settings.AuditEntry, error) {
	var all []settings.AuditEntry
	for before := uint64(0); ; {
		p, err := s.Audit(ctx, f, before, limit)
		if err != nil {
			return nil, err
		}
		if len(p.Entries) > limit {
			return nil, fmt.Errorf("a page of %d entries has %d", limit, len(p.Entries))
		}
		for _, e := range p.Entries {
			if n := len(all); e.Seq == 0 || before != 0 && e.Seq >= before || n > 0 && e.Seq >= all[n-1].Seq {
				return nil, fmt.Errorf("entry %d after a cursor of %d: the newest comes first, each once", e.Seq, before)
			}
			all = append(all, e)
		}
		switch {
		case p.Next == 0:
			slices.Reverse(all)
			return all, nil
		case before != 0 && p.Next >= before, len(all) > 0 && p.Next > all[len(all)-1].Seq:
			return nil, fmt.Errorf("the cursor %d after %d: it has to move on", p.Next, before)
		}
		before = p.Next
	}
}
