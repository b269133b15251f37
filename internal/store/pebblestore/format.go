package pebblestore

// The format of the directory.
//
//	key                                                value
//	meta/clean                                         empty; exists while the directory is closed in order
//	meta/format                                        formatVersion, 1 byte: the format of all the keys below
//	meta/number                                        number of the newest batch that was synced and of the newest audit
//	                                                   entry, 8 bytes each, big-endian
//	task/<namespace>\0<name>                           the record, with a body of at most inlineBody bytes: see package codec
//	body/<namespace>\0<name>                           format byte, the bytes of a larger body
//	due/<lane><due><name>                              empty: the task is scheduled
//	run/<namespace>\0<name>                            the lease's end: the task is running
//	dead/<keep until><namespace>\0<name>               for a sweep, see endedEntry: the task is dead
//	done/<keep until><namespace>\0<name>               the same: the task is finished
//	idem/<namespace>\0<digest>                         the name of the task made with that Idempotency-Key
//	count/<namespace>\0<queue>                         how many records the queue has, see counts.go; no key if none;
//	                                                   also the number of unfinished occurrences of a schedule
//	set/<kind, 1 byte><namespace>\0<name>              format byte, a setting: see settings.EncodeSetting
//	audit/<number of the last entry, 8 bytes>          the audit entries of one batch: see package codec
//
// Records, counts and blocks of the audit log begin with the same format byte
// as bodies and settings: codec.Format.
//
// <lane> is <namespace>\0<queue>\0<priority, 1 byte><destination>\0. An instant
// is 8 bytes, big-endian, with the sign bit flipped, so that keys sort by
// time. No namespace, queue, destination or name contains a zero byte.
//
// A live task is in exactly one of due and run. Any other task is in exactly
// one of dead and done. The key and the value of an index entry are derived
// from the record alone. So one atomic batch moves a task between indexes, and
// a scrub can find errors.
//
// Format 4 had no tasks with kinds.
//
// Format 3 had all bodies in body. Such a body stays there until its record
// is written with the body.
//
// Format 2 had no schedules, and no counts of their unfinished occurrences.
//
// Format 1 had no counts, no settings and no audit log. A task that was run by
// hand stayed in the lane of its own priority. The values of dead and done were
// only the digest. Open upgrades such a directory.
//
// Besides Pebble's files the directory contains markerFile, plain text: the
// format of the directory, and the oldest format a reader must know. It is read
// before anything is written, so that a directory of a newer version is not
// changed. The other file of ours is watermarkFile.
const (
	// formatVersion is the format that this code writes. A change that older
	// code would misread raises it and oldestReader. A field that older code may
	// ignore, and drop when it rewrites the record, raises only formatVersion.
	formatVersion = 5
	oldestReader  = 5

	// inlineBody is the size up to which a body is a part of its record. Most
	// bodies are smaller, and then a task is one value to write, read and delete
	// instead of two. A claim and a settlement write the record again.
	inlineBody = 1 << 10

	// firstIndexed is the first format with the present indexes and counts.
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
