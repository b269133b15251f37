// Package keyspace names every key of the store in Redis, and divides tasks
// into shards. The documentation of package redisstore describes the content of
// the keys.
package keyspace

// MetaKey is the hash of values that all nodes must share. The first node that
// opens a store in these servers writes it (identity/scripts/meta.lua), and the
// other nodes compare.
//
//	format   of keys and values, as they are written
//	oldest   the oldest format whose code can use them too
//	shards   the number of shards, which never changes
//	lease    Config.ShardLease in milliseconds. It must not change while any node
//	         is live. It decides when a node counts as dead. If nodes disagreed, they
//	         would repeatedly take shards from each other
//	identity the identity of the store (package identity); a store of an older
//	         version has none
//	whole    "1" if every part has the identity, confirmed by every replica that followed
const MetaKey = "foliot:meta"

// Keys outside the shards of tasks. The settings have a slot of their own, and
// so do the nodes.
const (
	SettingsKey  = "foliot:{settings}:all"
	SettingsSeal = "foliot:{settings}:seal"
	SettingsLog  = "foliot:{settings}:log" // audit entries of settings; those of a namespace are in a stream of their own
	SettingsLogs = "foliot:{settings}:logs"
	SettingsID   = "foliot:{settings}:id" // holds the store's identity
	VersionField = "version"              // the field of SettingsKey with the version of the settings

	// NodesKey is the hash of heartbeats and drains. It is also the channel on
	// which nodes announce that they joined, left, released shards, or are
	// drained.
	NodesKey = "foliot:nodes"
	NodesLog = "foliot:{foliot:nodes}:log" // the audit log of drains; it is in the slot of NodesKey
	NodesID  = "foliot:{foliot:nodes}:id"  // holds the store's identity
)

// LogOf returns the key of a namespace's stream in the audit log; "" stands for
// entries of the server. log is SettingsLog, or the Log of a shard.
func LogOf(log, namespace string) string { return log + ":" + namespace }
