// Package lowwater keeps a low-water mark for each lane of a due index: a position
// below which the lane has no entry. A read of a lane begins there.
//
// A queue's index is deleted from its head. In an LSM tree the deleted entries
// stay as tombstones until a compaction removes them, and a seek to the head steps
// over each of them. After a million deletions such a seek takes 28–58 ms, against
// microseconds from the mark, so no read seeks to a lane's start. In a store where
// such a read costs nothing, the marks still list, without any I/O, the lanes that
// have entries.
package lowwater
