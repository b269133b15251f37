package migration

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/task"
)

// Contents is all that a store has, independent of its kind.
type Contents struct {
	Counts          map[task.QueueKey]task.Counts // of records
	Settings, Audit int
	Checksum        string // SHA-256 of records, settings and audit log
}

// Tasks returns the number of tasks, and that of schedules.
func (c Contents) Tasks() (tasks, schedules int64) {
	for q, n := range c.Counts {
		if tasks += n.Total(); q.Queue == task.ScheduleQueue {
			schedules += n.Total()
		}
	}
	return tasks - schedules, schedules
}

func (c Contents) String() string {
	tasks, schedules := c.Tasks()
	return fmt.Sprintf("%d tasks, %d schedules, %d settings and %d entries of the audit log with checksum %s", tasks, schedules, c.Settings, c.Audit, c.Checksum)
}

// read returns the contents of a store, and passes all records with their bodies to use.
func (m *Migration) read(ctx context.Context, s Store, use func(context.Context, []*task.Task) error) (c Contents, err error) {
	if c.Counts, err = CountsOf(ctx, s); err != nil {
		return c, err
	}
	namespaces := map[string]bool{}
	for q := range c.Counts {
		namespaces[q.Namespace] = true
	}
	sum := sha256.New()
	list := func(f task.Filter, page task.Page) (err error) {
		for more := true; more && err == nil; more = page.After != "" {
			var l task.Listing
			if l, err = s.List(ctx, f, page); err != nil {
				return err
			}
			for _, t := range l.Tasks {
				addRecord(sum, t)
			}
			if page.After = l.Next; use != nil {
				err = use(ctx, l.Tasks)
			}
			m.Progress(len(l.Tasks))
		}
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(namespaces)) {
		if err := list(task.Filter{Namespace: name}, task.Page{Limit: pageSize, Bodies: true}); err != nil {
			return c, err
		}
		if err := list(task.Filter{Namespace: name, Queue: task.ScheduleQueue}, task.Page{Limit: pageSize, Before: task.FirstTaskName, Bodies: true}); err != nil {
			return c, err
		}
	}
	all := settingsOf(s)
	for _, r := range all {
		data, err := settings.EncodeSetting(r)
		if err != nil {
			return c, err
		}
		add(sum, data)
	}
	log, err := auditOf(ctx, s)
	for i := range log {
		add(sum, codec.EncodeAuditEntry(&log[i]))
	}
	c.Settings, c.Audit, c.Checksum = len(all), len(log), hex.EncodeToString(sum.Sum(nil))
	return c, err
}

// addRecord adds a record with its body, in the same form for every store.
func addRecord(sum hash.Hash, t *task.Task) {
	rest := *t
	rest.Labels, rest.Request.Headers = nil, nil // the codec has them in any order, and %q sorts them
	add(sum, fmt.Appendf(nil, "%q %q %q", t.Key(), t.Labels, t.Request.Headers))
	add(sum, codec.AppendRecord(nil, &rest))
	add(sum, t.Request.Body)
}

// add adds data after its length.
func add(sum hash.Hash, data []byte) {
	fmt.Fprintf(sum, "%d ", len(data))
	sum.Write(data)
}

// CountsOf returns the counts of records by queue.
func CountsOf(ctx context.Context, s Store) (map[task.QueueKey]task.Counts, error) {
	all, err := s.Counts(ctx)
	maps.DeleteFunc(all, func(q task.QueueKey, _ task.Counts) bool { return q.OfOccurrences() })
	return all, err
}

// settingsOf returns all settings but the migration, in their order.
func settingsOf(s Store) (all []settings.Setting) {
	for kind := settings.QueueKind; kind < settings.MigrationKind; kind++ {
		all = append(all, s.Standing().Settings.List(kind, "")...)
	}
	return all
}

// auditOf returns the audit log, the oldest entry first.
func auditOf(ctx context.Context, s Store) (all []settings.AuditEntry, err error) {
	page := settings.AuditPage{}
	for more := true; more && err == nil; more = page.Next != 0 {
		page, err = s.Audit(ctx, settings.AuditFilter{}, page.Next, pageSize)
		all = append(all, page.Entries...)
	}
	slices.Reverse(all)
	return all, err
}
