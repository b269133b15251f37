// Package scrub walks the shards of this node and repairs disagreements between
// records, names, bodies, indexes and lanes.
package scrub
