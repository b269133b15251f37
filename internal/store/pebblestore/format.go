package pebblestore

import "github.com/foliot/foliot/internal/store/kernel"

// The format of the directory.
//
//	key                                                value
//	meta/clean                                         empty; exists while the directory is closed in order
//	meta/number                                        number of the newest batch that was synced and of the newest audit
//	                                                   entry, 8 bytes each, big-endian
//	task/<namespace>\0<name>                           the record, with a body of at most inlineBody bytes: see package codec
//	body/<namespace>\0<name>                           format byte, the bytes of a larger body
//	due/<lane><due><name>                              empty: the task is scheduled
//	run/<namespace>\0<name>                            the lease's end: the task is running
//	dead/<namespace>\0<ended place>                    empty: the task is dead; see task.EndedPlace
//	done/<namespace>\0<ended place>                    the same: the task is finished
//	keep/<keep until><namespace>\0<name>               for a sweep, see endedEntry: the task is dead or finished
//	idem/<namespace>\0<digest>                         the name of the task made with that Idempotency-Key
//	count/<namespace>\0<queue>                         how many records the queue has, see counts.go; no key if none;
//	                                                   also the number of unfinished occurrences of a schedule
//	set/<kind, 1 byte><namespace>\0<name>              format byte, a setting: see settings.EncodeSetting
//	audit/<number, 8 bytes>                            format byte, an audit entry: see codec.EncodeAuditEntry
//	past/<h for an hour or m><its beginning><writer>   the figures of a history.Part
//
// Records and counts begin with the same format byte as bodies, settings and
// audit entries: codec.Format.
//
// <lane> is <namespace>\0<queue>\0<priority, 1 byte><destination>\0. An instant
// is 8 bytes, big-endian, with the sign bit flipped, so that keys sort by
// time. No namespace, queue, destination or name contains a zero byte.
//
// A record has the index entries of kernel.EntriesOf, with keys and values that are
// derived from the record alone, so a scrub can find errors.
//
// Besides Pebble's files the directory contains watermarkFile, and markerFile with the
// format of the directory, which is read before anything is written.
//
// inlineBody is the size up to which a body is a part of its record. Most bodies are
// smaller, so a task is one value to write, read and delete instead of two.
const inlineBody = 1 << 10

// The first word of each key.
const (
	metaPrefix  = "meta/"
	taskPrefix  = "task/"
	bodyPrefix  = "body/"
	duePrefix   = "due/"
	runPrefix   = "run/"
	deadPrefix  = "dead/"
	donePrefix  = "done/"
	keepPrefix  = "keep/"
	idemPrefix  = "idem/"
	countPrefix = "count/"
	setPrefix   = "set/"
	auditPrefix = "audit/"
	pastPrefix  = "past/"
)

// placePrefix has the first words of the keys that end with a namespace and a place.
var placePrefix = [...]string{kernel.DeadByEnd: deadPrefix, kernel.DoneByEnd: donePrefix, kernel.ByName: taskPrefix}

var (
	cleanKey  = []byte(metaPrefix + "clean")
	numberKey = []byte(metaPrefix + "number")
)
