// Package registry keeps the nodes that share a store in Redis, and the owners of
// its shards: internal/store/membership decides with it. The owner of a shard is
// stored in the shard's own key, so each script that only the owner may run checks
// the owner's id in the run that writes.
package registry
