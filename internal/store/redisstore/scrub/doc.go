// Package scrub walks the shards that this node owns, and repairs what does not fit
// together: records, names, bodies, indexes, lanes, Idempotency-Keys and counts.
package scrub
