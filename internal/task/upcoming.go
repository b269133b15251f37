package task

// Upcoming is a page of waiting records in the order of their due times, and in
// no particular order if these are the same.
type Upcoming struct {
	Tasks []*Task // without their bodies
	Until Millis  // the page has all records that are due before Until
	More  bool    // other records may be due at Until or later

	weight int
}

// NewUpcoming returns an empty page of the records due at or before until.
func NewUpcoming(until Millis) Upcoming { return Upcoming{Until: until + 1} }

// Add adds the next record, or returns false if the page was full, of limit
// records or of MaxPageBytes, and ends it then.
func (u *Upcoming) Add(t *Task, limit int) bool {
	if len(u.Tasks) >= limit || u.weight >= MaxPageBytes {
		u.End(t.Due)
		return false
	}
	u.weight += t.Weight()
	u.Tasks = append(u.Tasks, t.WithoutBody())
	return true
}

// End ends the page before until: records that are due then can be missing.
func (u *Upcoming) End(until Millis) { u.Until, u.More = until, true }
