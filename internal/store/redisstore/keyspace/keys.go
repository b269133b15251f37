// Package keyspace names every key of the store in Redis, and divides tasks
// into shards. The documentation of package redisstore describes the content of
// the keys.
package keyspace

import "strconv"

// VersionField is the field of Keys.Settings with the version of the settings.
const VersionField = "version"

// DefaultPrefix is the word with which all keys and channels of a store begin, if
// its configuration has no other.
const DefaultPrefix = "foliot"

// Keys names the keys and channels of a store. Stores with different prefixes
// share nothing, so several can be in the same servers.
type Keys struct {
	// Meta is the hash of values that all nodes must share, and the first node
	// writes it (identity/scripts/meta.lua).
	//
	//	format   of keys, values, scripts and messages: codec.Format
	//	shards   the number of shards, which never changes
	//	lease    Config.ShardLease in milliseconds. If live nodes disagreed, they would
	//	         repeatedly take shards from each other
	//	identity the identity of the store (package identity)
	//	whole    "1" if every part has the identity, confirmed by every replica that followed
	Meta string

	// The settings have a slot of their own.
	Settings     string
	SettingsSeal string
	SettingsLog  string // the audit log
	Past         string // the beginning of the keys of the history
	SettingsID   string // holds the store's identity
	Edits        string // the channel of edits

	Nodes   string // the hash of heartbeats and drains
	NodesID string // holds the store's identity
	Sums    string // the sums that the nodes publish

	// Changes is the channel on which nodes announce that they joined, left,
	// released shards, or are drained.
	Changes string

	prefix   string // with a colon
	database string // the end of the names of channels that databases could share
}

// NewKeys returns the keys that begin with prefix and a colon, in a database of
// the servers. Databases share the channels of a server, so in all databases
// but 0, the names of channels end with the number of the database.
func NewKeys(prefix string, database int) *Keys {
	p, end := prefix+":", ""
	if database != 0 {
		end = ":" + strconv.Itoa(database)
	}
	settings, nodes := p+"{settings}:", p+"{"+p+"nodes}:"
	return &Keys{
		prefix: p, database: end, Meta: p + "meta",
		Settings: settings + "all", SettingsSeal: settings + "seal", SettingsLog: settings + "log", Past: settings + "past:", SettingsID: settings + "id",
		Edits: settings + "edits" + end,
		Nodes: p + "nodes", NodesID: nodes + "id", Sums: nodes + "sums",
		Changes: p + "nodes" + end,
	}
}

// NodesShard stands for the slot of the keys of nodes. It holds no tasks: only
// its seal and its identity key are used.
func (k *Keys) NodesShard() *Shard {
	return &Shard{Number: -1, Prefix: k.prefix + "{" + k.Nodes + "}:", Slot: SlotOf(k.Nodes), Own: k.NodesID}
}

// Permits returns the keys of a scope of permits: for its permits and for its
// tokens.
func (k *Keys) Permits(scope string) []string {
	p := k.prefix + "{q:" + scope + "}:"
	return []string{p + "sem", p + "rl"}
}

// Asks returns the channel on which a process receives the scopes for which it
// should ask. No other process has its name, not even in another database.
func (k *Keys) Asks(process string) string { return k.prefix + "permits:" + process }
