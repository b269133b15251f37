package task

import "context"

// Store keeps tasks. Each consumer takes only the parts it needs. All methods
// may be called by many goroutines; time is always an argument.
//
// A nil error means that the change or the state returned is durable at the
// level that Durability names, or at the level in the Reply if that is lower. A
// call that fails as a whole (the context ended, the medium failed, ErrClosed)
// may or may not have been carried out; repeating it is safe. After Close every
// method returns ErrClosed.
type Store interface {
	Ledger
	Queue
	Registry
	Scrubber

	// Durability returns the level that a nil error of a mutation means:
	// "memory", "synced", .... A Reply reports if a change reached a lower
	// level.
	Durability() string

	// Err returns nil while the store works, and otherwise the reason why it
	// does not: ErrUnavailable if the failure may end by itself, ErrStoreUnfit
	// if the store accepts no new tasks until its servers are configured as
	// before. With any other error the store has stopped for good.
	Err() error

	// Close waits for calls under way and releases the medium. It may be called
	// twice.
	Close() error
}

// Ledger is the part of a store that the API uses.
type Ledger interface {
	// Apply carries out changes in their order, each atomic by itself, and
	// returns one Reply for each. The batch is not atomic: a crash in the
	// middle leaves a prefix of it. now is the clock rounded up (CeilMillis),
	// as delays count from it. A reply's error is one of the Change's own
	// errors or ErrFull. The returned records carry their bodies only if the
	// change set them.
	//
	// A Create or Replace fails with ErrIdempotencyReuse if a kept record of
	// the same namespace has used its Idempotency key under another name, even
	// if another record has the requested name. A change that exceeds its
	// namespace's quotas fails with *QuotaError (Quota.Admit). A
	// change that makes a record in a missing namespace fails with
	// *MissingError (Settings.Takes). The audit log records each change
	// (AuditChange) with the actor ActorOf(ctx).
	Apply(ctx context.Context, now Millis, changes []Change) ([]Reply, error)

	// Get returns the task with its body. Errors: ErrNotFound.
	Get(ctx context.Context, key Key) (*Task, error)

	// List returns one page of the tasks of f.Namespace that match f, in the
	// order of their names, examining at most MaxPageExamined records.
	List(ctx context.Context, f Filter, page Page) (Listing, error)
}

// Queue is the part of a store that dispatch uses. Its now is the clock rounded
// down (FloorMillis): no claim is early.
type Queue interface {
	// Lanes returns the lanes that have, or may have, a scheduled task due at
	// or before until, the earliest first. It costs O(lanes), no I/O.
	Lanes(ctx context.Context, until Millis) ([]LaneHead, error)

	// LaneNamespaces returns the namespaces that have, or may have, a scheduled
	// task, in no order. It costs O(namespaces), for each shard.
	LaneNamespaces(ctx context.Context) ([]string, error)

	// LanePages is Lanes for one namespace after the other, in pages, so that
	// no call costs more than the pages it requests. It returns one page for
	// each read. The heads are in no order, and a lane may be named more than
	// once. The pages from the zero LaneCursor to Last name each lane that has
	// a task due at or before until throughout. A lane that is added during the
	// read may be missing.
	LanePages(ctx context.Context, until Millis, reads []LanePageRead) ([]LanePage, error)

	// Peek reads lanes' indexes without taking anything: for each read, its
	// entries in order.
	Peek(ctx context.Context, reads []LaneRead) ([][]Entry, error)

	// Claim, Extend and Settle return ErrUnavailable for single items if only
	// some shards are unavailable. Such items may or may not have been carried
	// out.

	// Claim claims due tasks, each by itself, and returns them with their
	// bodies. The errors of a reply are those of Claim.Apply. A claim alone
	// need not be durable: after a crash each claim that was not settled has
	// been reaped, or is as if never made.
	Claim(ctx context.Context, now Millis, claims []Claim) ([]Reply, error)

	// Extend extends leases and returns one error, nil or ErrStale, for each.
	// An extension is as durable as a claim.
	Extend(ctx context.Context, now Millis, extensions []Extension) ([]error, error)

	// Fire makes schedules create the occurrences of due instants, each by
	// itself. One step creates the occurrence, unless its name is taken, and
	// moves the schedule on. Both are durable when Fire returns. A schedule
	// with more missed instants is due again at once. The errors of a reply are
	// those of Fire.Apply, ErrFull and, as with claims, ErrUnavailable.
	Fire(ctx context.Context, now Millis, fires []Fire) ([]Reply, error)

	// Settle ends claims and returns one reply for each. A reply's error is
	// nil, ErrStale, or the reason why the task's record cannot be read or
	// written. A Result's Spawned task is created in the same batch, unless its
	// name is taken.
	Settle(ctx context.Context, now Millis, settlements []Settlement) ([]Reply, error)

	// Reap takes back at most limit leases that ended at or before now, and
	// returns how many. It treats Spawned tasks as Settle does. A store for a
	// single process reaps every lease when it is opened; its owner never needs
	// to call Reap.
	Reap(ctx context.Context, now Millis, limit int) (int, error)

	// Sweep removes at most limit records of tasks and of the audit log whose
	// retention ended at or before now, and returns their number. The audit log
	// is removed from its oldest entry on: an entry that must stay keeps those
	// after it.
	Sweep(ctx context.Context, now Millis, limit int) (int, error)

	// Watch sets the function that is called with tasks that were created,
	// moved or given back, after they became durable, and with schedules that
	// wait for an occurrence that has ended (EndedEntry). The function must not
	// block. Some calls may be missing: they are hints, and Lanes and Peek
	// return the truth. There is at most one watcher; nil removes it.
	Watch(hint func([]Entry))
}

// LanePageRead requests a page of the lanes of a namespace.
type LanePageRead struct {
	Namespace string
	From      LaneCursor // zero: the first page
	Limit     int        // about how many lanes the call examines
}

// LanePage is a page of the lanes of a namespace.
type LanePage struct {
	Heads []LaneHead
	Next  LaneCursor // the beginning of the next page, valid unless Last
	Last  bool       // there is no further page
}

// LaneCursor is a position among the lanes of a namespace. Only the store that
// made it can read it.
type LaneCursor struct{ Shard, Left int }

// LaneRead requests a part of a lane.
type LaneRead struct {
	Lane  Lane
	After Position // exclusive; zero: from the start
	Until Millis   // inclusive
	Limit int
}

// Reply is the result of one item of a batch.
type Reply struct {
	Result
	Err error

	// Durability is the level that the change reached, if that is lower than
	// the level that the store's Durability names. Otherwise it is "".
	Durability string
}
