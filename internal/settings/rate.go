package settings

import (
	"fmt"
	"math"

	"github.com/foliot/foliot/internal/task"
)

// Rate names a rate of a namespace by its field in the API.
type Rate string

// The rates of a namespace.
const (
	CreateRate Rate = "create_rate" // tasks created
	ChangeRate Rate = "change_rate" // changes of existing tasks and schedules
	ReadRate   Rate = "read_rate"   // reads
	EditRate   Rate = "edit_rate"   // edits of settings by the namespace's own tokens
)

// RateLimit is a token bucket: PerSecond units flow in, up to Burst, and the zero value sets no
// limit.
type RateLimit struct{ PerSecond, Burst float64 }

// None reports whether l sets no limit.
func (l RateLimit) None() bool { return l.PerSecond == 0 }

// DefaultEdits bounds the edits of a namespace without an edit_rate, because other edits wait
// for each edit's write, and it stays in the audit log.
var DefaultEdits = RateLimit{PerSecond: 2, Burst: 50}

// defaultReads bounds the reads of a namespace without a read_rate: as many as take a tenth of a
// processor.
var defaultReads = RateLimit{PerSecond: 1000, Burst: 10_000}

// minRate is the lowest rate, one a day, because a lower one would hardly differ from a stop.
const minRate = 1.0 / (24 * 3600)

// Limit returns the limit that applies to n at a rate. Without a change_rate, the limit of
// creates applies to changes too, because they cost as much. The burst of a rate is one second's
// worth, at least 1, unless create_burst says otherwise; a nil n has no limits.
func (n *NamespaceSettings) Limit(r Rate) RateLimit {
	if n == nil {
		return RateLimit{}
	}
	switch {
	case r == EditRate && n.EditRate == 0:
		return DefaultEdits
	case r == ChangeRate && n.ChangeRate == 0, r == CreateRate:
		l := rateLimit(n.CreateRate)
		if n.CreateBurst > 0 && !l.None() {
			l.Burst = float64(n.CreateBurst)
		}
		return l
	case r == ChangeRate:
		return rateLimit(n.ChangeRate)
	case r == ReadRate && n.ReadRate == 0:
		return defaultReads
	case r == ReadRate:
		return rateLimit(n.ReadRate)
	}
	return rateLimit(n.EditRate)
}

func rateLimit(perSecond float64) RateLimit {
	return RateLimit{PerSecond: perSecond, Burst: max(1, math.Ceil(perSecond))}
}

// validateRate checks a rate, 0 if it is absent, and names stop in its error as the way to stop
// the limited work.
func validateRate(field string, rate float64, stop string) error {
	switch {
	case math.IsNaN(rate) || rate < 0 || rate > MaxRate:
		return &task.FieldError{Path: field, Code: "out_of_range", Detail: fmt.Sprintf("must be between one a day and %d a second", int(MaxRate))}
	case rate > 0 && rate < minRate:
		return &task.FieldError{Path: field, Code: "out_of_range", Detail: fmt.Sprintf("must be at least one a day (0.0000116); to stop everything, %s", stop)}
	}
	return nil
}
