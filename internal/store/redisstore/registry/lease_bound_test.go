package registry

import "testing"

func TestALeaseThatIsWrittenDuringAReadOfTheLeasesIsNotMissed(t *testing.T) {
	var b LeaseBound
	if !b.Reached(0) {
		t.Error("nothing was read, and no lease can have ended")
	}
	b.Begin()
	b.Lower(500) // the read did not see this lease
	b.Lower(900) // the first one that the read found
	if b.Reached(499) || !b.Reached(500) {
		t.Error("the bound is not the first end of a lease")
	}
	b.Begin()
	if b.Reached(1 << 52) {
		t.Error("the shard has no lease, and one can have ended")
	}
	b.Lower(0)
	if !b.Reached(0) {
		t.Error("the read has failed, and no lease can have ended")
	}
}
