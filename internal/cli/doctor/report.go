package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/wire"
)

// Report counts and shows the findings of an examination.
type Report struct {
	show func(wire.Finding) error
	why  func(error) string // returns the text of an error
	bad  int                // number of bad findings
	err  error

	namespace string // the examined one
	others    bool   // the caller could examine other namespaces too, and some exist
}

// NewReport returns an empty report. The report calls show with each finding,
// and why with each error that a finding quotes.
func NewReport(show func(wire.Finding) error, why func(error) string) *Report {
	return &Report{show: show, why: why}
}

// Line returns a finding as a line of text.
func Line(found wire.Finding) string {
	word := "ok  "
	switch {
	case found.Warning:
		word = "WARN"
	case !found.OK:
		word = "BAD "
	}
	return fmt.Sprintf("%s %-12s %s", word, found.Check, wording.Printable(found.Says))
}

// warn adds a finding that is not ok, but does not make the examination fail.
func (r *Report) warn(check, format string, args ...any) {
	r.err = errors.Join(r.err, r.show(wire.Finding{Check: check, Warning: true, Says: fmt.Sprintf(format, args...)}))
}

func (r *Report) add(check string, ok bool, format string, args ...any) {
	if !ok {
		r.bad++
	}
	r.err = errors.Join(r.err, r.show(wire.Finding{Check: check, OK: ok, Says: fmt.Sprintf(format, args...)}))
}

// StoreTime is the time limit for examining a Redis or PostgreSQL.
const StoreTime = 30 * time.Second

// Store adds the findings about a store, or returns the error that prevented them.
func (r *Report) Store(list []wire.Finding, err error) error {
	for _, found := range list {
		r.add(found.Check, found.OK, "%s", found.Says)
	}
	return cmp.Or(err, r.end())
}

// end returns nil if no finding is bad, and otherwise the error of the command.
func (r *Report) end() error {
	switch {
	case r.err != nil:
		return r.err
	case r.bad == 1:
		return errors.New("1 finding is bad")
	case r.bad > 1:
		return fmt.Errorf("%d findings are bad", r.bad)
	}
	return nil
}
