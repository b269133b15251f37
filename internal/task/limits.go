package task

import "time"

// The limits of client requests, all in one place; the docs and OpenAPI repeat
// them.
const (
	MaxNameLen        = 256
	MaxKindLen        = 128
	MaxURLLen         = 8 << 10
	MaxBodyDefault    = 256 << 10 // an operator can raise this limit to MaxBody
	MaxBody           = 1 << 20
	MaxHeaderBytes    = 16 << 10 // names and values together
	MaxLabels         = 64
	MaxLabelKeyLen    = 128
	MaxLabelValueLen  = 256
	MaxNesting        = 32 // levels in the JSON of a request
	MaxAttemptsLimit  = 100_000
	MaxBatch          = 1000
	MaxBatchBytes     = 16 << 20
	MaxIdempotencyKey = 256

	MinTimeout  = time.Millisecond
	MaxTimeout  = time.Hour
	minBackoff  = time.Millisecond
	MaxDelay    = 100 * 365 * 24 * time.Hour // 100 years, leap days aside
	MaxDuration = MaxDelay                   // of every other duration
)
