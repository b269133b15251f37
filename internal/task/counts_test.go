package task

import "testing"

func TestCountsFollowEveryStep(t *testing.T) {
	var c Counts
	made := create(t)
	runs := claim(t, made.Due, made, "x")
	done := apply(t, made.Due, made, Cancel{Key: made.Key()})
	for _, step := range [][2]*Task{{nil, made}, {made, runs}, {runs, made}, {made, done}} {
		c.Move(step[0], step[1])
	}
	if c.States[Cancelled] != 1 || c.Pending() != 0 || c.Bytes != done.Stored() || c.Total() != 1 {
		t.Errorf("%+v", c)
	}
	c.Move(done, nil)
	if c != (Counts{}) {
		t.Errorf("%+v", c)
	}
}
