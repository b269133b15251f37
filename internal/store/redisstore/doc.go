// Package redisstore keeps tasks in Redis or Valkey, 7.0 or newer, with or
// without a Cluster, for many nodes.
//
// # Decisions
//
// The pure transitions of package task decide each change of a task, as in
// every other store. They run on the node that received the request. The server
// only compares and writes (redisconn/scripts/put.lua): a record has a stamp
// that is new with each value, and is replaced only if its stamp is the one
// that the transition saw. The same run of the script writes everything that
// follows from the change: the index entry, the body, the counts and the audit
// entry. So
//
//   - there is one table of transitions, and no second one in Lua,
//   - a call whose reply was lost may be repeated: if the record has the new stamp,
//     the call was carried out,
//   - if several calls change one record at the same time, one is first. The others
//     receive the new record and apply their change to it.
//
// The design had one script for each transition. Those would have repeated the
// transitions in Lua.
//
// # Keys
//
// Tasks are divided into shards, by a hash of the namespace and of the name up
// to an @. All keys of a shard lie in one slot. A task is "<ns>/<name>", a lane
// is "<ns>/<queue>/<priority>/<destination>". Of these parts, only a lane's
// destination can contain a slash.
//
//	foliot:{tag}:meta          HASH    task → stamp and record
//	foliot:{tag}:body          HASH    task → its body
//	foliot:{tag}:names         ZSET    tasks, sorted by name
//	foliot:{tag}:due:<lane>    ZSET    name → due time; lanes without demand are not read
//	foliot:{tag}:idx           ZSET    lane → a lower bound of its earliest due time
//	foliot:{tag}:fly           ZSET    task → the end of its lease
//	foliot:{tag}:dead, :gone   ZSET    task → the end of its retention
//	foliot:{tag}:cnt           HASH    <ns>/<queue>/<state> → the number of tasks
//	foliot:{tag}:log:<ns>      STREAM  audit entries of the namespace's tasks (package audit);
//	                                   foliot:{tag}:log has those of all namespaces that older
//	                                   versions wrote
//	foliot:{tag}:logs          HASH    the namespaces that have such a stream
//	foliot:{tag}:idem          HASH    Idempotency-Key → when it was taken, and the name of its task
//	foliot:{tag}:own           HASH    id: the owner; until: the end of its lease; epoch: the number
//	                                   of acquisitions; purge: the newest fence; fences: the number
//	                                   of fences raised in the slot (fence.go); store: the identity
//	                                   of the store
//	foliot:{tag}:wake          channel for tasks that other nodes add to the shard and that are due
//	                                   soon
//	foliot:meta                HASH    format, oldest reader, shards, lease: values that all nodes
//	                                   share; and the identity of the store (package identity)
//	foliot:{tag}:seal, foliot:{settings}:seal, foliot:{foliot:nodes}:seal
//	                           STRING  empty, and never read: a write to it makes WAIT cover
//	                                   earlier writes (redisconn/scripts/seal.lua)
//	foliot:{settings}:id, foliot:{foliot:nodes}:id
//	                           HASH    store: the same identity; and the number of shards
//	foliot:nodes               HASH    node → its last heartbeat, its process and a description
//	                                   (package membership); twin/<node> → the same for a process
//	                                   that found its name taken; drain/<node> → the drained process.
//	                                   Also the channel on which nodes announce that they joined,
//	                                   left, released shards, or are drained
//	foliot:{foliot:nodes}:log  STREAM  audit entries of drains
//	foliot:{settings}:all      HASH    settings, and their version
//	foliot:{settings}:log:<ns>, :logs  like those of a shard, for entries of settings
//	foliot:{q:<scope>}:sem     HASH    process → its share of a limit on running attempts
//	                                   (permits.lua); scope is <ns>/<queue>, with or without
//	                                   /<destination>
//	foliot:{q:<scope>}:rl      HASH    process → its tokens of a rate, and when the bucket is full
//	foliot:permits:<process>   channel for scopes that the process should ask for
//
// The keys contain names, although the design has hashes of names there. So
// Redis itself keeps lanes and listings sorted, and collisions are impossible.
// The price is about 30 bytes for each key.
//
// Invariants of each shard, at every moment: a task has one index entry, the
// one that follows from its record; the counts match the records; the bound in
// idx is not later than the lane's first due time.
//
// # Nodes
//
// Every shard has one owner. Only the owner claims, reaps, removes and audits
// there; every node may change tasks. The live nodes decide which node should
// own a shard (membership/share.go). The actual owner is in the shard's own
// key, for the length of a lease. put compares the owner's id, with the
// process's nonce and the epoch of the acquisition, in the run that writes. So
// two nodes that disagree, or a node that slept past its lease, never claim a
// task twice. Settlements and extensions need only the task's token: a node may
// finish tasks that it claimed before it lost the shard.
//
// A name belongs to the first process that has it, until that process leaves or
// is silent for half a lease. Until then, another process with the name owns
// nothing. So a node that restarts after a kill gets its name before the leases
// of its predecessor end.
//
// The owner finds tasks that other nodes add to a shard in the index of lanes,
// which it polls. The index is the truth. For tasks that are due before the
// next polls, put also publishes a wake-up message, except if the owner itself
// adds them. The message may get lost.
//
// # Calls
//
// Every call ends, even if its caller's context does not. A call that a server
// cannot take is retried for two seconds. One try takes at most five seconds
// (package redisconn). Then the caller gets task.ErrUnavailable with an
// explanation. Every request may be sent twice. The client itself repeats
// nothing, and its connections close with the store.
//
// # Time
//
// TIME in a script is the only clock that decides. It refuses early calls (a
// claim before the due time, a reap before the lease's end), and callers whose
// clock is too far off to compute a lease. So a node's clock can make a task
// late, but never early. To avoid that lateness, nodes do not use their own
// clocks either, but estimate the servers' clocks (package serverclock): a node
// whose wall clock is an hour off claims in time.
package redisstore
