// Package keyspace names every key that the store in Redis uses, and divides
// tasks into shards. What lies in each key, the documentation of package
// redisstore says.
package keyspace

// MetaKey is the hash of what nodes have to agree on: the first that opens a
// store in these servers writes it (identity/scripts/meta.lua), all others compare.
//
//	format   of keys and values, as they are written
//	oldest   the oldest format whose code may use them all the same
//	shards   into how many parts the tasks are divided: for good
//	lease    Config.ShardLease in milliseconds: as long as any node lives. From it
//	         follows after how long a node counts as dead, so that nodes that differ
//	         would take shards from each other without end
//	identity which store this is (package identity); one of an older version has none
//	whole    "1": every part bears the identity, and replicas have it
const MetaKey = "foliot:meta"

// Keys that lie in no shard of tasks. The settings have a slot of their own, and so do the nodes.
const (
	SettingsKey  = "foliot:{settings}:all"
	SettingsSeal = "foliot:{settings}:seal"
	SettingsLog  = "foliot:{settings}:log" // audit entries of settings; those of a namespace lie in a stream of its own
	SettingsLogs = "foliot:{settings}:logs"
	SettingsID   = "foliot:{settings}:id" // bears the store's identity
	VersionField = "version"              // the field of SettingsKey that holds the version of the settings

	// NodesKey is the hash of heartbeats and drains. It is also the channel on which nodes
	// announce that they came, went, released shards, or are drained.
	NodesKey = "foliot:nodes"
	NodesLog = "foliot:{foliot:nodes}:log" // the audit log of drains; it lies in the slot of NodesKey
	NodesID  = "foliot:{foliot:nodes}:id"  // bears the store's identity
)

// LogOf returns the key of the audit log's stream of a namespace: "" for entries of the server. log
// is SettingsLog, or the Log of a shard.
func LogOf(log, namespace string) string { return log + ":" + namespace }
