package pebblestore

// The format of the directory.
//
//	key                                                value
//	meta/clean                                         empty; there while the directory is closed in order
//	meta/format                                        formatVersion, 1 byte: what is below has that format
//	meta/number                                        number of the newest batch that was synced and of the newest audit
//	                                                   entry, 8 bytes each, big-endian
//	task/<namespace>\0<name>                           the record: see package codec
//	body/<namespace>\0<name>                           format byte, the body's bytes
//	due/<lane><due><name>                              empty: the task is scheduled
//	run/<namespace>\0<name>                            the lease's end: the task is running
//	dead/<keep until><namespace>\0<name>               what a sweep must know, see kept: the task is dead
//	done/<keep until><namespace>\0<name>               the same: the task is finished
//	idem/<namespace>\0<digest>                         the name of the task made with that Idempotency-Key
//	count/<namespace>\0<queue>                         how many records the queue has, see counts.go; none: no key;
//	                                                   so, too, how many occurrences of a schedule are unfinished
//	set/<kind, 1 byte><namespace>\0<name>              format byte, a setting: see task.EncodeSetting
//	audit/<number of the last entry, 8 bytes>          the audit entries of one batch: see package codec
//
// Records, counts and blocks of the audit log begin with the same format byte
// as bodies and settings: codec.Format.
//
// <lane> is <namespace>\0<queue>\0<priority, 1 byte><destination>\0. An instant
// is 8 bytes, big-endian, with the sign bit flipped, so that keys sort by
// time. No namespace, queue, destination or name contains a zero byte.
//
// A live task is in exactly one of due and run, any other in exactly one of
// dead and done. The key and the value of an index entry are derived from the
// record alone, so that one atomic batch moves a task from index to index, and
// a scrub can tell what is wrong.
//
// Format 2 knew no schedules, and had no counts of their unfinished occurrences.
//
// Format 1 had neither counts nor settings nor the audit log, kept a task that
// was run by hand in the lane of its own priority, and only the digest as the
// value of dead and done. Open brings such a directory up to date.
//
// Beside Pebble's files the directory holds markerFile, plain text: which
// format the directory has, and the oldest format whose readers can cope with it.
// It is read before anything is written, so that a directory of a newer
// version is left as it was. The other file of ours is watermarkFile.
const (
	// formatVersion is what this code writes. A change that older code would
	// misread raises it and oldestReader; a field that older code may ignore, and
	// drop when it rewrites the record, raises formatVersion alone.
	formatVersion = 3
	oldestReader  = 3

	// firstIndexed is the first format whose indexes and counts are those of today.
	firstIndexed = 2
)

// The first word of each key.
const (
	metaPrefix  = "meta/"
	taskPrefix  = "task/"
	bodyPrefix  = "body/"
	duePrefix   = "due/"
	runPrefix   = "run/"
	deadPrefix  = "dead/"
	donePrefix  = "done/"
	idemPrefix  = "idem/"
	countPrefix = "count/"
	setPrefix   = "set/"
	auditPrefix = "audit/"
)

var (
	cleanKey  = []byte(metaPrefix + "clean")
	formatKey = []byte(metaPrefix + "format")
	numberKey = []byte(metaPrefix + "number")
)
