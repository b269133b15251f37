// Package redisstore keeps tasks in Redis or Valkey, 7.0 or newer, alone or as a
// Cluster, for many nodes at once.
//
// # Who decides, and where
//
// What becomes of a task the pure transitions of package task decide, here as in
// every other store, on the node that was asked. The server compares and writes
// (redisconn/scripts/put.lua): a record bears a stamp, new with each value, and is replaced
// only if its stamp is the one that the transition saw. Everything that follows
// from the change, its index entry, its body, counts, the audit entry, is
// written by the same run of the script. So
//
//   - there is one table of transitions, and not a second one in Lua,
//   - a call whose reply was lost may be repeated: a record that bears the new
//     stamp was written by it,
//   - of those who change one record at the same time one is first, and the others
//     are told what they have to apply their change to.
//
// The design had a script for each transition. It would have said the same twice.
//
// # Keys
//
// Tasks are divided into shards, by a hash of namespace and name up to an @. All
// keys of a shard lie in one slot. "<ns>/<name>" is a task, "<ns>/<queue>/
// <priority>/<destination>" a lane; no part can contain a slash but the last.
//
//	foliot:{tag}:meta          HASH    task → stamp and record
//	foliot:{tag}:body          HASH    task → its body
//	foliot:{tag}:names         ZSET    tasks, in the order of their names
//	foliot:{tag}:due:<lane>    ZSET    name → due time; a lane that is not wanted is not read
//	foliot:{tag}:idx           ZSET    lane → a lower bound of its earliest due time
//	foliot:{tag}:fly           ZSET    task → when its lease ends
//	foliot:{tag}:dead, :gone   ZSET    task → until when it is kept
//	foliot:{tag}:cnt           HASH    <ns>/<queue>/<state> → how many
//	foliot:{tag}:log:<ns>      STREAM  audit entries of the namespace's tasks (package audit); foliot:{tag}:log has those of
//	                                   all namespaces that older versions wrote
//	foliot:{tag}:logs          HASH    the namespaces that have such a stream
//	foliot:{tag}:idem          HASH    Idempotency-Key → since when, and the name of its task
//	foliot:{tag}:own           HASH    id of the owner, until when it owns the shard, and epoch, how often the
//	                                   shard was acquired; purge, the newest fence, and fences, how many were
//	                                   raised in the slot (fence.go)
//	foliot:{tag}:wake          channel of what others put into the shard that is due soon
//	foliot:meta                HASH    format, oldest reader, shards, lease: what nodes must agree on (package identity);
//	                                   and the identity of the store
//	foliot:{settings}:id, foliot:{foliot:nodes}:id
//	                           HASH    the same identity as store, and how many shards there are; the field store of
//	                                   each foliot:{tag}:own bears it, too
//	foliot:nodes               HASH    node → its last heartbeat, its process and what that is (package membership); twin/<node> → the
//	                                   same of a process that found its name taken; drain/<node> → the
//	                                   process that is drained; and the channel of who came, went, released shards, or is drained
//	foliot:{foliot:nodes}:log  STREAM  audit entries of drains
//	foliot:{settings}:all      HASH    settings, and their version
//	foliot:{settings}:log:<ns>, :logs  the same as of a shard, for entries of settings
//	foliot:{q:<scope>}:sem     HASH    process → its part of a limit of attempts under way (permits.lua); scope is
//	                                   <ns>/<queue>, or with /<destination> behind it
//	foliot:{q:<scope>}:rl      HASH    process → its tokens of a rate, and when the bucket is full again
//	foliot:permits:<process>   channel of scopes of which it has reason to ask
//
// Names stand in the keys themselves, where the design takes a hash of them: the
// order of a lane and that of a listing then are Redis's own, and nothing can
// collide, for some 30 bytes more.
//
// Invariants, of each shard at every moment: a task has one index entry, the one
// that its record says; the counts are those of the records; the bound in idx is
// not above the lane's first due time.
//
// # Nodes
//
// Every shard has one owner, which alone claims, reaps, removes and audits there;
// everybody changes. Who is to own it follows from the nodes that live (membership/share.go);
// who does is in the shard's own key, for the length of a lease. put
// compares the owner's id, with the process's nonce and the acquisition's
// epoch, in the same run that writes. So two nodes that disagree, or one that slept past its
// lease, claim no task twice. Settlements and extensions need the task's token only: what a node
// has claimed it may finish after it has lost the shard.
//
// A name belongs to the process that had it first, until that goes or is silent for half a
// lease; another one with that name owns nothing meanwhile. So one that starts again after
// its predecessor was killed has the name before the leases of that end.
//
// What others put into a shard its owner finds in the index of lanes, which it
// polls. That is the truth. For tasks that are due before the next polls put also
// publishes a wake-up, to no one if the owner does it itself; it may get lost.
//
// # Calls
//
// Every call has an end, whatever its caller's context says. What a server cannot take
// now is tried again for two seconds, one try takes at most five (package redisconn), and then the
// caller gets task.ErrUnavailable with what that means. All that is sent may be sent twice. The
// client itself repeats nothing, and its connections are closed when the store is.
//
// # Time
//
// TIME inside a script is the only clock. It refuses what is early (a claim before
// the due time, a reap before the lease's end), and a caller whose clock is too
// far away to compute a lease with. So a node's clock can make a task late, and
// never early. How late it would be is why nodes do not go by their own clocks
// either, but by what the servers say of theirs (package redisconn): a node whose wall clock is an
// hour off claims in time.
package redisstore
