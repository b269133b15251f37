package recurrence

import (
	"slices"
	"time"

	"github.com/foliot/foliot/internal/cron"
	"github.com/foliot/foliot/internal/task/wallclock"
)

// Rule is a client's definition of a schedule's instants.
type Rule struct {
	Cron   string           // the expression; empty means that the rule has an interval, Every
	Zone   string           // the IANA name of the time zone of Cron
	Gap    cron.Gap         // the policy for civil times that a clock change leaves out
	Fold   cron.Overlap     // the policy for civil times that a clock change repeats
	Every  time.Duration    // the interval; valid if Cron is empty
	Anchor wallclock.Millis // the time from which Every counts; an instant only if Start is set

	Start, End wallclock.Millis // the first and last possible instant; zero means no bound
	MaxRuns    int64            // the maximum number of occurrences; zero means no bound
	Jitter     time.Duration    // the upper bound of an occurrence's delay after its instant

	Missed        Missed
	CatchupWindow time.Duration // instants that were missed longer ago are skipped
	CatchupLimit  int           // the maximum number of missed instants that FireAll fires
	Overlap       Overlap
}

// The bounds of a Rule, and its defaults.
const (
	MinEvery             = time.Second
	MaxJitter            = 24 * time.Hour
	DefaultCatchupWindow = 24 * time.Hour
	DefaultCatchupLimit  = 100
	MaxCatchupLimit      = 10_000
	DefaultZone          = "UTC"
)

// Overlap is the policy for an instant that comes while an occurrence is
// unfinished, as a number that is part of the disk format.
type Overlap uint8

// The policies of overlaps.
const (
	AllowOverlap Overlap = iota
	SkipOverlap
	BufferOne // one occurrence waits for the end of the earlier ones
)

var (
	missedNames  = [...]string{FireOnce: "fire_once", SkipMissed: "skip", FireAll: "fire_all"}
	overlapNames = [...]string{AllowOverlap: "allow", SkipOverlap: "skip", BufferOne: "buffer_one"}
)

// String returns the policy's word, as it stands in JSON.
func (m Missed) String() string { return missedNames[min(int(m), len(missedNames)-1)] }

// String returns the policy's word, as it stands in JSON.
func (o Overlap) String() string { return overlapNames[min(int(o), len(overlapNames)-1)] }

// ParseMissed is the inverse of String.
func ParseMissed(word string) (Missed, bool) {
	i := slices.Index(missedNames[:], word)
	return Missed(max(i, 0)), i >= 0
}

// ParseOverlap is the inverse of String.
func ParseOverlap(word string) (Overlap, bool) {
	i := slices.Index(overlapNames[:], word)
	return Overlap(max(i, 0)), i >= 0
}

// Skip holds instants that made no occurrence, and the reason.
type Skip struct {
	Span
	Why string // one of the words below
}

// NewSkip returns the Skip of one instant.
func NewSkip(at wallclock.Millis, why string) Skip { return Skip{Span{at, at}, why} }

// The reasons why instants made no occurrence.
const (
	SkippedMissed  = "missed"         // missed; the policy for missed instants skips them
	SkippedWindow  = "catchup_window" // missed longer ago than CatchupWindow
	SkippedLimit   = "catchup_limit"  // missed, and above CatchupLimit
	SkippedQuota   = "quota"          // the namespace had reached its quota of pending tasks or bytes
	SkippedOverlap = "overlap"        // an occurrence was unfinished
)

// RuleError says that a field of a Rule is not valid.
type RuleError struct{ Field, Code, Detail string }

func (e *RuleError) Error() string { return e.Field + ": " + e.Detail }

// SetCron sets the expression of r in the form in which it is stored. "@every
// 90s" sets Every. Errors: *RuleError.
func (r *Rule) SetCron(expression string) error {
	expr, err := cron.Parse(expression)
	if err != nil {
		return &RuleError{"cron", "bad_cron", err.Error()}
	}
	every, ok := expr.Every()
	switch {
	case ok && r.Every != 0:
		return &RuleError{"cron", "conflict", "a schedule must have either cron or every, not both"}
	case ok:
		r.Every = every
	default:
		r.Cron = expr.String()
	}
	return nil
}

// Over reports whether r, with its anchor set, has no instant after now.
func (r *Rule) Over(now wallclock.Millis) bool {
	c, err := r.Calendar()
	return err == nil && c.after(now, 0) == 0
}

// Same reports whether r and o have the same instants, ignoring their ends,
// although a client may have left the anchor of r open.
func (r *Rule) Same(o *Rule) bool {
	return (r.Anchor == 0 || r.Anchor == o.Anchor) && r.Cron == o.Cron && r.Zone == o.Zone && r.Gap == o.Gap && r.Fold == o.Fold && r.Every == o.Every && r.Start == o.Start
}

// Instants returns at most limit instants in [from, until], the earliest first.
// None is at or before 1970-01-01T00:00:00Z, because 0 means "no instant". Each
// instant costs microseconds.
func (r *Rule) Instants(from, until wallclock.Millis, limit int) ([]wallclock.Millis, error) {
	c, err := r.Calendar()
	if err != nil {
		return nil, err
	}
	return c.Instants(from, until, limit), nil
}

// Count returns the number of instants in s, at most most.
func (r *Rule) Count(s Span, most int) (n int) {
	c, err := r.Calendar()
	if err != nil {
		return 0
	}
	return c.Count(s, most)
}
