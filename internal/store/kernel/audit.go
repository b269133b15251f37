package kernel

import (
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// Audit returns a page of the audit log: see store.SettingsStore. newest returns the n
// newest entries whose Seq is below before (0: from the newest), or all if there are fewer.
func Audit(f settings.AuditFilter, before uint64, limit int, newest func(before uint64, n int) ([]settings.AuditEntry, error)) (page settings.AuditPage, err error) {
	for left, part := task.MaxPageExamined, limit+1; left > 0; part = 1000 {
		part = min(part, left)
		entries, err := newest(before, part)
		if err != nil {
			return settings.AuditPage{}, err
		}
		for i := range entries {
			if len(page.Entries) >= limit {
				return page, nil
			}
			page.Next = entries[i].Seq
			if f.Match(&entries[i]) {
				page.Entries = append(page.Entries, entries[i])
			}
		}
		if len(entries) < part {
			page.Next = 0
			return page, nil
		}
		left -= len(entries)
		before = page.Next
	}
	return page, nil
}
