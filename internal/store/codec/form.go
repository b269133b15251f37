package codec

import (
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// Form is the form in which a store writes its values.
type Form uint8

const (
	Usual   Form = iota // the form that every version reads
	Compact             // for stores in memory; versions without it refuse such values
)

// AppendRecord appends the record of t, without its body, to dst.
func (f Form) AppendRecord(dst []byte, t *task.Task) []byte {
	if f == Compact {
		return AppendCompactRecord(dst, t)
	}
	return AppendRecord(dst, t)
}

// AppendEntry appends e to dst. In the compact form, e loses its namespace.
func (f Form) AppendEntry(dst []byte, e *settings.AuditEntry) []byte {
	if f == Compact {
		return AppendCompactEntry(dst, e)
	}
	return AppendAuditEntry(append(dst, Format), &settings.AuditEntry{}, e)
}
