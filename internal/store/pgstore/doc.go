// Package pgstore keeps tasks in PostgreSQL, 14 or newer, for many nodes. A schema is a
// store, and the files below schema make its tables.
//
// # Decisions
//
// The pure transitions of package task decide each change, on the node that received
// the request. PostgreSQL only compares and writes: each version of a record has a new
// random stamp, and a record is replaced only if it still has the stamp by which the
// step was decided (write.sql). One statement writes the record, its lease and its news.
// Concurrent calls share a transaction, because it costs far more than a row
// (sqltask.Batches).
//
// A call can also run in a transaction of the user (tx.go). Then its changes commit with
// the user's rows, and an open transaction locks only the tasks that it changes. To make
// that possible, no change of a client touches a row that the change of another task
// touches: differences of counts, and tasks that begin to wait, are rows of the table
// news.
//
// Programs in other languages change tasks by SQL functions (schema/functions.sql). A
// function checks its arguments and appends an operation to the column pending of the
// task's row, with a new stamp, so a claim under way fails. Each read applies pending
// operations in memory, and each write stores their result. The owner of the shard
// writes them when it reads their news (pending.go). If a quota or another rule of Go
// refuses a put then, the task is dead with the reason refused.
//
// An Idempotency-Key is a column of its task with a unique index, so the key and the
// task are taken together.
//
// # Nodes
//
// Every shard has one owner (internal/store/membership). Only the owner claims, reaps
// and removes there, and each of these statements compares the owner's id. Every node
// can change tasks.
//
// A heartbeat renews one row, which is the lease of all shards of the node (registry.go).
// It also reads all that an idle node needs to know: the nodes, the version of the
// settings, and whether there are news. So it is the only statement that such a node
// makes. A node that misses a message is at most 250 ms late if it had work in the last
// ten seconds, and otherwise 1.1 s.
//
// The owner finds tasks in the index task_due, lane by lane. Each read begins at the
// lane's low-water mark, because dead rows of claimed tasks lie before it. A claim
// changes no indexed column, so it writes no index, and running tasks stay in the index
// until they end. From the news (poll.go), the owner learns of tasks that other
// transactions add. It reads by snapshots, because transactions do not commit in the
// order of their numbers. A crash of PostgreSQL or a failover may undo claims of tasks
// that the marks have passed. It empties the unlogged table recovery, and then each
// node acquires its shards again and reads the heads of all lanes. If the address leads
// to another store later, or to an older copy, a node notices that (identity.go).
//
// # Durability
//
// Claims and extensions commit without a sync: if a crash undoes one, the task is due
// again. At the level strict, any warning of a COMMIT is an error, because PostgreSQL
// answers a cancelled wait for a standby with success and a warning. A COMMIT is never
// cancelled: if the store closes or the server is silent, its connection is closed without a
// cancel request. Commits have a pool of connections of their own, so that those
// which wait for a standby hold up neither reads nor leases.
//
// # Locks
//
// Statements lock records in the order of their keys. They skip locked records, and
// their steps are tried again: those of dispatch for 100 ms, those of clients for a
// second. Only changes in a user's transaction wait, and for 20 ms the creates of a name
// that another transaction has put: later tries of them are made apart from others. Creates
// take a shared lock of their namespace, its removal an exclusive one.
//
// # Time
//
// The server's clock decides, rounded down to milliseconds. Nodes estimate it from the
// replies (package serverclock), and each claim compares it again.
package pgstore
