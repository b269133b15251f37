package task

import "encoding/binary"

// EndedPlaceTime is the length of the part of an ended place before the name.
const EndedPlaceTime = 8

// EndedPlace returns the place of an ended task in the list of its namespace's
// ended tasks. Compared as bytes, places are in the order of the list: the latest
// end first, and tasks that ended at the same time by name.
func EndedPlace(end Millis, name string) string {
	var first [EndedPlaceTime]byte
	binary.BigEndian.PutUint64(first[:], ^(uint64(end) ^ 1<<63)) // the complement puts later ends first
	return string(first[:]) + name
}

// EndedPlace returns the place of t, which has ended.
func (t *Task) EndedPlace() string { return EndedPlace(t.FinishedAt, t.Name) }
