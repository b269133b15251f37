// Package redisstore keeps tasks in Redis or Valkey, 7.0 or newer, with or
// without a Cluster, for many nodes.
//
// # Decisions
//
// The pure transitions of package task decide each change of a task, on the node
// that received the request. The server only compares and writes
// (redisconn/scripts/put.lua). Each value of a record has a new random stamp, and a
// record is replaced only if it still has the stamp that the node has read. The same
// run writes the index entries, the body and the counts. So a call whose reply was
// lost can be repeated: if the record has the new stamp, the call was applied. If
// several calls change one record at the same time, one is first, and the others
// apply their change to the new record. One script for each transition would have
// repeated the table of transitions in Lua.
//
// # Keys
//
// Tasks are divided into shards, by a hash of the namespace and of the name up
// to an @. All keys of a shard lie in one slot. A task is "<ns>/<name>", a lane
// is "<ns>/<queue>/<priority>/<destination>". Of these parts, only a lane's
// destination can contain a slash. All keys and channels begin with
// Config.Prefix, here "foliot".
//
//	foliot:{tag}:meta          HASH    task → stamp and record
//	foliot:{tag}:body          HASH    task → its body, unless the record has it
//	foliot:{tag}:names         ZSET    tasks, sorted by name
//	foliot:{tag}:due:<lane>    ZSET    name → due time; a lane is read only when a node asks for it
//	foliot:{tag}:idx           ZSET    lane → a lower bound of its earliest due time
//	foliot:{tag}:fly           ZSET    task → the end of its lease
//	foliot:{tag}:dead, :gone   ZSET    dead and finished tasks, sorted by namespace and end
//	foliot:{tag}:keep          ZSET    dead or finished task → the end of its retention
//	foliot:{tag}:cnt           HASH    <ns>/<queue>/<state> → the number of tasks
//	foliot:{tag}:idem          HASH    Idempotency-Key → when it was taken, and the name of its task
//	foliot:{tag}:own           HASH    id: the owner; until: the end of its lease; epoch: the number
//	                                   of acquisitions; fence: the token of the newest fence;
//	                                   fences: the number of fences raised in the slot (fence.go);
//	                                   n<i>: the changes of the processes with field i (Counters);
//	                                   store: the identity of the store
//	foliot:{tag}:wake          channel for tasks that other nodes add to the shard and that are due
//	                                   soon
//	foliot:meta                HASH    format, shards, lease: values that all nodes share; and
//	                                   the identity of the store (package identity)
//	foliot:{tag}:seal, foliot:{settings}:seal, foliot:{foliot:nodes}:seal
//	                           STRING  empty, and never read: a write to it makes WAIT cover
//	                                   earlier writes (redisconn/scripts/seal.lua)
//	foliot:{settings}:id, foliot:{foliot:nodes}:id
//	                           HASH    store: the same identity; and the number of shards
//	foliot:nodes               HASH    node → its last heartbeat, its process and a description
//	                                   (package registry); twin/<node> → the same for a process
//	                                   that found its name taken; drain/<node> → the drained process
//	foliot:{foliot:nodes}:sums HASH    node → the counts of its shards for namespaces with quotas
//	foliot:nodes               channel on which nodes announce that they joined, left, released
//	                                   shards, or are drained
//	foliot:{settings}:all      HASH    settings, and their version
//	foliot:{settings}:edits    channel on which edits are announced
//	foliot:{settings}:log      STREAM  the audit log (audit.go)
//	foliot:{q:<scope>}:sem     HASH    process → its share of a limit on running attempts
//	                                   (permits.lua); scope is <ns>/<queue>, with or without
//	                                   /<destination>
//	foliot:{q:<scope>}:rl      HASH    process → its tokens of a rate, and when the bucket is full
//	foliot:permits:<process>   channel for scopes that the process should ask for
//
// All databases of a server share its channels. So in all databases but 0, the names
// of the channels wake and nodes end with a colon and the number of the database. The
// keys contain names, not hashes of names, so that Redis keeps lanes and listings
// sorted.
//
// Invariants of each shard, at every moment: each task has exactly the index entries
// of its record (kernel.EntriesOf); the counts match the records; the bound in idx is
// not later than the lane's first due time.
//
// # Nodes
//
// Every shard has one owner (internal/store/membership). Only the owner claims, reaps
// and removes there; every node can change tasks. The owner is in the shard's own
// key, for the length of a lease. Its id has the nonce of its process and the epoch
// of the acquisition, and put compares it in the run that writes. So a task is never
// claimed twice, even if a node slept past its lease. Settlements and extensions need
// only the task's token, so a node can finish tasks that it claimed before it lost
// the shard.
//
// The owner finds tasks that other nodes add to a shard in the index of lanes, which
// it polls. For a task that is due before the next polls, put also publishes a
// wake-up message, which can be lost.
//
// # Calls
//
// Every call ends, even if its caller's context does not, and every request can be
// sent twice. A call that a server cannot take is retried for two seconds, and its
// last try can take five seconds more (package redisconn). Then the caller gets
// task.ErrUnavailable with an explanation.
//
// # Time
//
// Only the server's clock (TIME in a script) decides. Scripts refuse early calls (a
// claim before the due time, a reap before the lease's end), and callers with a clock
// that is too far off to compute a lease. So a wrong clock of a node can only make
// tasks late. To avoid this too, nodes use an estimate of the servers' clocks
// (package serverclock).
package redisstore
