// Package scrub walks the shards of this node and repairs disagreements between
// records, names, bodies, indexes, lanes, Idempotency-Keys and counts.
package scrub
