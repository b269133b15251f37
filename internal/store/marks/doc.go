// Package marks keeps, for each lane of a due index, a low-water mark: a position
// below which the lane has no entry. A read of a lane begins there.
//
// A queue's index is deleted from its head. In an LSM tree the deleted entries
// stay as tombstones until a compaction meets them, and a seek to the head
// steps over each: 28–58 ms after a million, against microseconds from a mark
// that lies behind them. So nobody ever seeks to a lane's start. Where a read
// from the start would cost nothing, the marks still say, without any I/O, which
// lanes have something to read.
package marks
