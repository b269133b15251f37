// Package foliot gives a Go program durable timers: named tasks with Go
// handlers that start at their due time, to the millisecond, and survive a
// crash. Until its handler starts, a task can be moved or cancelled. Use the
// package for timers: close an order in 30 minutes, expire a hold, remind on
// Friday, watch a heartbeat, debounce an event. In PostgreSQL, a task commits with
// the rows of your transaction.
//
// # A first program
//
// A task has a Kind: a name and a Go type for its arguments, which are stored as
// JSON. Open connects the handlers of a Mux with a Store, and Run runs them:
//
//	var closeOrder = foliot.NewKind[Order]("close-order")
//
//	mux := new(foliot.Mux)
//	closeOrder.Handle(mux, func(ctx context.Context, t *foliot.Task[Order]) error {
//		return shop.Close(ctx, t.Args.ID)
//	})
//	node, err := foliot.Open(ctx, dir.Store("timers"), mux, foliot.Options{})
//	...
//	_, err = closeOrder.In(ctx, node, "close-"+id, 30*time.Minute, Order{ID: id})
//	...
//	err = node.Run(ctx)
//
// The store is a directory of this machine (package foliot/dir), which needs no
// server, or a Redis or PostgreSQL that several processes share (packages
// foliot/redis and foliot/postgres).
//
// # Calls
//
// These are the calls in the order in which most programs need them:
//
//	Kind.In, Kind.At, Kind.Put    create a task; the due time of Put is In, At or Local
//	Node.Cancel, Move, Touch      change a task until its handler starts
//	Kind.Schedule                 creates a task at each instant of a Rule: Cron or Every
//	HTTP.In                       creates a task that calls a URL, in a program with Options.URLs
//	CreateMany, CancelMany        change many tasks with few writes to the disk
//	Get, List, Retry              find tasks, and start dead ones again
//	Node.Queues                   limits, pauses and counts of the tasks of InQueue
//
// These calls are the methods of a Scheduler, which is a Node or, in a program
// without the handlers, a result of foliot/remote.New. For tests, foliottest.Start
// returns a Node in memory, with fake time in a bubble of testing/synctest. Operators use the HTTP API and the page of
// foliot/admin, and foliot/metrics and foliot/traces export figures and spans.
//
// # Results
//
// A task starts at least once, and never before its due time. If UnderWay of a
// cancel is false, the task never starts. The result of a handler decides how its
// task goes on:
//
//   - nil: the task is delivered.
//   - an error: the task is retried after a backoff. When MaxAttempts or MaxAge is
//     used up, it is dead.
//   - [Dead]: the task is dead, and no attempt follows unless it is retried.
//   - [RetryIn]: this attempt failed, and the next one starts after exactly that
//     time, at least 1s.
//   - [Snooze]: the task is due after exactly that time, at least 1s, and no attempt
//     is used.
//
// Some handlers return nothing, or return late:
//
//   - A panic or runtime.Goexit counts as an error. The stack of a panic is logged,
//     and the process goes on.
//   - Arguments that do not decode count as an error too, because a later
//     deployment may be able to read them.
//   - When the Timeout of the task passes, the context ends, and the result of the
//     handler counts as always. If the handler goes on, no second attempt starts
//     next to it, and Options.OnHang is called.
//   - A cancel ends the context with [ErrCancelled]. The task is delivered if the
//     handler returns nil, and otherwise cancelled.
//   - When the context of Run ends, handlers keep running for Options.Grace. Then
//     their contexts end with [ErrStopping], and the tasks are due again at once.
//   - When the store cannot be reached, the context ends with [ErrLeaseLost]:
//     another process may start the task.
//   - When the process dies, the task is due again: on a directory when it is
//     opened, on a shared store after Options.Lease. After three deaths such tasks run one
//     at a time, and after ten the task is dead.
//
// Handlers must be idempotent: use Task.ID as the key. In PostgreSQL, a handler can
// also settle its task in its transaction, with postgres.Complete.
//
// # Deployments
//
// Only a process with a handler for the kind starts a task; without one, the task
// waits, and does not fail. So after a deployment that renames a kind, the tasks
// with the old name wait until a process has a handler for that name. `foliot
// ls`, the web page and Node.MissingHandlers show them.
//
// # Transactions
//
// In PostgreSQL, postgres.Tx creates, moves and cancels tasks in the transaction
// of your rows. With another store, to set a timer for a row of a database, store the due time in the row, and
// call Put inside the transaction, after the INSERT. The handler reads the row:
// if there is none, the transaction was rolled back; if its time is later, the
// handler snoozes. In would return ErrExists and keep the timer of an attempt
// that was rolled back. A Put after the commit could be lost in a crash. See the
// example Transaction.
//
// # Cost
//
// A waiting task uses no memory until a few seconds before its due time. A call
// on a directory returns when the disk has the change, and calls of several
// goroutines share the writes. Several goroutines can use a Node or another
// Scheduler at the same time.
package foliot
