package kernel

import (
	"context"
	"encoding/binary"
	"strings"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/lowwater"
	"github.com/foliot/foliot/internal/task"
)

// Reader is the interface of a medium for one query: List, Upcoming or Due. A medium
// that has snapshots reads one of them.
//
// A call gets many ranges, because a call can be a round trip. The queries double
// their limits from round to round, so a query needs few calls.
type Reader interface {
	// Parts returns how many parts each index has, where all entries of a task are in the
	// same part.
	Parts() int

	// Batch returns how many ranges one call should get, or 1 if a call is so cheap that
	// a batch saves nothing.
	Batch() int

	// Scan returns the first places of each range, in their order.
	Scan(ctx context.Context, ranges []Range) ([][]string, error)

	// Records returns the first of these records, at least one, and may stop when their
	// weight is task.MaxPageBytes. A record is nil if it does not exist, may be nil if
	// f does not match it, and must have its body if bodies is true.
	Records(ctx context.Context, keys []task.Key, f *task.Filter, bodies bool) ([]*task.Task, error)

	// Lanes returns the lanes that r selects, in no order.
	Lanes(ctx context.Context, r LaneRead) (Lanes, error)

	// Count counts the entries of each range that are due before r.End, by the intervals
	// of r, and passes the numbers to found. All ranges are of ByDue. A medium that must
	// visit each entry to count it visits at most Limit entries of a range.
	Count(ctx context.Context, ranges []Range, r *store.DueRead, found store.DueFound) ([]Counted, error)
}

// Range is a range of places in a part of an index. The places of ByDue are those of
// a lane, and the places of the other indexes those of a namespace.
type Range struct {
	Index Index
	Part  int       // below Parts; with ByDue it is that of the Head
	Lane  task.Lane // without ByDue only its namespace is set
	From  string    // the first place
	To    string    // the place after the last one; empty means that there is no bound
	Limit int
}

// DuePlace returns the place of a waiting task in its lane, as the key of its index
// entry, because the byte order of places is the order of the lane.
func DuePlace(p task.Position) string {
	var due [dueLen]byte
	binary.BigEndian.PutUint64(due[:], uint64(p.Due)^1<<63)
	return string(due[:]) + p.Name
}

// Position is the inverse of DuePlace.
func Position(place string) task.Position {
	return task.Position{Due: task.Millis(binary.BigEndian.Uint64([]byte(place[:dueLen])) ^ 1<<63), Name: place[dueLen:]}
}

// dueLen is the length of the part of a place in a lane before the name.
const dueLen = 8

// after returns the first place that can follow a place, because no name has a zero
// byte.
func after(place string) string { return place + "\x00" }

// LaneRead selects lanes: those of a namespace ("" means all) for which Selects returns
// true, and which may have an entry due at or before Until. If there are more lanes than
// about Limit, the read selects those with the lowest Head.Low.
type LaneRead struct {
	Namespace string
	Selects   func(task.Lane) bool
	Until     task.Millis
	Limit     int
}

// Lanes is the result of a LaneRead.
type Lanes struct {
	Heads    []Head
	End      task.Millis // the selected lanes that are not in Heads have no entry before End; math.MaxInt64 if Heads is known to have all
	Examined int         // the entries of the medium's index of lanes that were read
}

// Head is a lane in a part of the index, and a lower bound of its entries.
type Head struct {
	task.Lane
	Part int // for the ranges of this lane; only the medium reads it
	Low  task.Position
}

// Counted is the result of counting a range.
type Counted struct {
	Cost int    // in index entries; finding the first one counts too, for example SeekCost
	Next string // the first place that was not counted; empty means that all were
}

// SeekCost is the cost of finding a place: as much as some entries.
const SeekCost = 8

// ReadTasks is Records for a medium that reads bodies after the records, and only of those
// that f matches. read returns tasks, nil if they do not exist, perhaps with their bodies.
func ReadTasks(ctx context.Context, keys []task.Key, f *task.Filter, bodies bool, read func(_ context.Context, _ []task.Key, bodies bool) ([]*task.Task, error)) ([]*task.Task, error) {
	all, err := read(ctx, keys, false)
	if err != nil || !bodies {
		return all, err
	}
	n, weight := len(all), 0
	var large []task.Key
	var of []int
	for i, t := range all {
		if t == nil || t.Request.BodySize == 0 || f != nil && !f.Match(t) {
			continue
		}
		large, of = append(large, keys[i]), append(of, i)
		if weight += t.Weight() + t.Request.BodySize; weight >= task.MaxPageBytes {
			n = i + 1
			break
		}
	}
	if len(large) == 0 {
		return all, nil
	}
	got, err := read(ctx, large, true)
	for i, t := range got {
		all[of[i]] = t
	}
	return all[:n], err
}

// ScanLanes is Scan for due indexes. read returns the entries of each Read: see
// lowwater.Group.Peek.
func ScanLanes(ctx context.Context, ranges []Range, until task.Millis, read func(context.Context, []lowwater.Read) ([][]task.Entry, error)) ([][]string, error) {
	reads := make([]lowwater.Read, len(ranges))
	for i, r := range ranges {
		after := Position(r.From)
		after.Name = strings.TrimSuffix(after.Name, "\x00") // it is the end of a place, or there is no name
		reads[i] = lowwater.Read{Part: r.Part, LaneRead: store.LaneRead{Lane: r.Lane, After: after, Until: until, Limit: r.Limit}}
	}
	found, err := read(ctx, reads)
	all := make([][]string, len(found))
	for i, entries := range found {
		for _, e := range entries {
			all[i] = append(all[i], DuePlace(e.Position()))
		}
	}
	return all, err
}
