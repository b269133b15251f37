package pebblestore

// The format of the directory.
//
//	key                                                value
//	meta/clean                                         empty; there while the directory is closed in order
//	meta/number                                        number of the newest batch that was synced, 8 bytes, big-endian
//	task/<namespace>\0<name>                           the record: see record.go
//	body/<namespace>\0<name>                           format byte, the body's bytes
//	due/<lane><due><name>                              empty: the task is scheduled
//	run/<namespace>\0<name>                            the lease's end: the task is running
//	dead/<keep until><namespace>\0<name>               digest of its Idempotency-Key, or empty: the task is dead
//	done/<keep until><namespace>\0<name>               the same: the task is finished
//	idem/<namespace>\0<digest>                         the name of the task made with that Idempotency-Key
//	schedule/ queue/ token/ secret/ audit/             reserved
//
// <lane> is <namespace>\0<queue>\0<priority, 1 byte><destination>\0. An instant
// is 8 bytes, big-endian, with the sign bit flipped, so that keys sort by
// time. No namespace, queue, destination or name contains a zero byte.
//
// A live task is in exactly one of due and run, any other in exactly one of
// dead and done. The key of an index entry is derived from the record alone, so
// that one atomic batch moves a task from index to index.
//
// Beside Pebble's files the directory holds markerFile, plain text: which
// format the directory has, and the oldest format whose readers can cope with it.
// It is read before anything is written, so that a directory of a newer
// version is left as it was. The other file of ours is watermarkFile.
const (
	// formatVersion is what this code writes. A change that older code would
	// misread raises it and oldestReader; a field that older code may ignore, and
	// drop when it rewrites the record, raises formatVersion alone.
	formatVersion = 1
	oldestReader  = 1

	// recordFormat is the first byte of each record and each body.
	recordFormat = 1
)

// The first word of each key.
const (
	metaPrefix = "meta/"
	taskPrefix = "task/"
	bodyPrefix = "body/"
	duePrefix  = "due/"
	runPrefix  = "run/"
	deadPrefix = "dead/"
	donePrefix = "done/"
	idemPrefix = "idem/"
)

var (
	cleanKey  = []byte(metaPrefix + "clean")
	numberKey = []byte(metaPrefix + "number")
)
