// Package foliot gives a Go program durable timers: named tasks with Go
// handlers that start at their due time, to the millisecond, and survive a
// crash. A task can be moved or cancelled until its handler starts. Use it for
// timers: close an order in 30 minutes, expire a hold, remind on Friday, watch a
// heartbeat, debounce an event. For jobs that a SQL transaction must enqueue,
// use River (riverqueue.com) instead: it keeps its jobs in your database.
//
// The tasks are kept in a directory of this machine (package foliot/dir) or in a
// Redis that several processes share (package foliot/redis). A directory needs
// no server:
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
// # Kinds
//
// A task has a kind: a name and a Go type for its arguments, which are stored as
// JSON. Only a process with a handler for the kind starts the task. A task of
// another kind waits, and is never failed for that: after a deployment that
// renames a kind, the tasks of the old name wait until a process handles it
// again. `foliot ls`, the web page and Node.Missing show them.
//
// # Results
//
// A task starts at least once. It never starts before its due time, and after a
// successful Cancel that returned pending it never starts. The result of a
// handler decides what happens next:
//
//	result                        the task
//	nil                           is delivered
//	an error                      is tried again after a backoff, until its attempts or its age are used up; then it is dead
//	Dead(err)                     is dead: no further attempt, until someone retries it
//	RetryIn(d, err)               failed; the next attempt comes after exactly d
//	Snooze(d)                     is moved: it is due after exactly d, and has used no attempt
//	a panic, runtime.Goexit       as an error; the stack is logged, and the process goes on
//	arguments that do not decode  as an error: a later deployment may read them
//	its context ends by Timeout   the result of the handler decides as always, when it returns
//	the handler ignores that      the task keeps running while Run does: no second attempt starts beside it, and Options.Hangs is called
//	Cancel                        its context ends with ErrCancelled; if the handler returns nil the task is delivered, otherwise cancelled
//	Run ends                      after Options.Grace its context ends with ErrStopping, and the task is due again at once
//	the process dies              is due again: on a directory when it is opened, on a Redis within seconds. After three deaths tasks run one at a time, after ten the task is dead
//	ErrLeaseLost                  the store was out of reach for too long: another process may have started the task
//
// Handlers must therefore be idempotent: use the name of the task as a key.
//
// # Transactions
//
// To set a timer for a row of a database, create the task before the
// transaction commits, under a name that derives from the row, and let the
// handler read the row. After a rollback the timer finds nothing to do. The
// other order could lose the timer: a crash between the commit and the create.
//
// # Cost
//
// A waiting task costs no memory until a few seconds before its due time. All
// functions of this package can be called by several goroutines.
package foliot
