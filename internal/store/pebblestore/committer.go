package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/task"
)

// The bounds of one batch. A bigger batch spreads the cost of its fsync over
// more calls, but a claim that is queued behind it waits until it is applied:
// 256 creates take about 2 ms.
const (
	maxBatchSteps = 256
	maxBatchBytes = 1 << 20

	// maxFlights is how many batches may be applied and not yet answered.
	// Pebble syncs all of them at once, so a slow disk makes flights longer, not slower.
	maxFlights = 4
)

// committer makes every change of the store, in one goroutine, so that no two
// changes of a record can meet. The syncer, in another, waits for the disk. A
// batch goes through three stages, and while one batch is in one of them the
// next is in the stage before:
//
//	filled    The committer takes requests off the queue. For each step it
//	          looks up the record, runs the transition, and writes what differs
//	          into a Pebble batch, until the queue is empty or the batch full.
//	applied   The batch gets the next number, the number is announced, the batch
//	          is applied: from here on Pebble shows it to readers. Its write to
//	          the log is under way.
//	synced    The syncer, which has waited for the log, moves progress to the
//	          number. Now its requests are answered and the watcher is told.
//
// So one fsync serves all calls that arrived during the one before, and the
// disk and the processor work at the same time.
//
// Nothing unsynced is answered. A change that is applied can be seen by others
// before it is synced, and a crash would take it back, so everybody who has
// seen it waits, too:
//
//   - A request waits for the highest batch that changed a record it looked
//     at, also if it changed nothing itself: ErrExists is only true once the
//     record that exists is there for good. recent knows those batches.
//   - A reader waits for the number that was announced when its read was over.
//     It is announced before it is applied, so it cannot be too low.
//
// Claims are different. A claim that a crash takes back does no harm: the task
// is due again, as it would be after the restart reaped the lease. So a claim
// is written without a sync, and its answer waits only if its record was
// changed by a batch that is not synced yet. On a disk that takes 5 ms this is
// what keeps an attempt from starting 5 ms late. The exception is in suspects.
//
// Why not let each caller commit a Pebble batch of its own, as Pebble groups
// them, too? Two changes of one record must not meet between look-up and commit,
// so it would need a lock for each record, and a lock order for batches of many.
type committer struct {
	*Store
	flights chan *flight // to the syncer; closed when the committer ends

	filling  *flight
	number   uint64 // of the newest batch that was numbered; the one being filled gets the next
	recent   map[task.Key]recent
	unsynced []touched // what keeps records in recent, the oldest first

	// What the batch being filled holds, for the steps that follow in it.
	bodies map[task.Key][]byte
	idem   map[idemKey]string // "": removed

	newest *task.Settings // those of the batches before and of the one being filled
	edited uint64         // the newest batch that changed them
	book   *book
	tally  *tally // of the scrub that is under way; nil: there is none
	log    block
	bound  logBound

	suspects              suspects
	reserve               reserve
	oldKey, newKey, value []byte // scratch
}

// recent is a record as a batch left it that is being filled, or was not known
// to be synced when it was last looked at, or whose task runs.
type recent struct {
	record *task.Task // without its body; nil: there is none any more
	dirty  uint64     // the newest batch that must be synced before it is answered; 0: none
}

// touched names the records of a batch that stay in recent until it is synced.
type touched struct {
	number uint64
	keys   []task.Key
}

// idemKey is an Idempotency-Key's digest; namespaces do not share keys.
type idemKey struct{ namespace, digest string }

// flight is a batch and what depends on it.
type flight struct {
	number    uint64        // 0: there is nothing to sync, requests wait for earlier flights
	batch     *pebble.Batch // nil: empty
	steps     int
	durable   bool           // the batch is to be synced
	settings  *task.Settings // as the batch leaves them; nil: it does not change them
	applied   time.Time
	requests  []*request   // to be answered
	scheduled []task.Entry // added to the due index
	ended     []task.Entry // schedules whose occurrences have ended
	keys      []task.Key   // of the records in it
}

func newCommitter(s *Store, from loaded, unclean bool) *committer {
	return &committer{
		Store:    s,
		flights:  make(chan *flight, maxFlights),
		filling:  &flight{},
		number:   from.number,
		newest:   s.settings.Load(),
		book:     from.book,
		log:      block{last: from.entry},
		recent:   make(map[task.Key]recent),
		bodies:   make(map[task.Key][]byte),
		idem:     make(map[idemKey]string),
		suspects: suspects{on: unclean, until: openedAt(s.config)},
	}
}

// run serves the queue until it is closed and empty, or the store has failed.
func (c *committer) run() {
	defer close(c.committerDone)
	defer close(c.flights)
	for more := true; more; {
		select {
		case <-c.queue.wake:
		case <-c.failed:
			return
		}
		var err error
		if more, err = c.drain(); err != nil {
			c.fail("change tasks", err)
			return
		}
	}
}

// drain serves what is queued, and reports whether more can come.
func (c *committer) drain() (more bool, err error) {
	for {
		r, more := c.queue.take(false)
		if r == nil {
			return more, c.commit()
		}
		if err := c.serve(r); err != nil {
			return false, err
		}
	}
}

// serve carries out a request. It is answered with the flight of its last step.
func (c *committer) serve(r *request) error {
	switch {
	case r.ctx.Err() != nil:
		r.err = r.ctx.Err()
	case r.sweep > 0:
		if err := c.sweep(r); err != nil {
			return err
		}
	case r.mend != nil:
		if err := c.mend(r); err != nil {
			return err
		}
	case r.log != nil:
		if err := c.makeRoom(true); err != nil {
			return err
		}
		c.touch(r)
		for _, e := range r.log {
			c.record(e)
		}
		c.filling.steps++
	case r.edits != nil:
		if err := c.configure(r); err != nil {
			return err
		}
	default:
		if err := c.carryOut(r); err != nil {
			return err
		}
	}
	c.filling.requests = append(c.filling.requests, r)
	return nil
}

func (c *committer) carryOut(r *request) error {
	r.replies = make([]task.Reply, len(r.steps))
	for i := range r.steps {
		if err := c.makeRoom(r.urgent); err != nil {
			return err
		}
		reply, err := c.step(r, &r.steps[i])
		if err != nil {
			return err
		}
		r.replies[i] = reply
		c.filling.steps++
	}
	return nil
}

// makeRoom commits a full batch. The next one begins with the urgent requests
// that came meanwhile, so that a claim does not wait for the rest of a long
// request.
func (c *committer) makeRoom(urgent bool) error {
	f := c.filling
	if f.steps < maxBatchSteps && (f.batch == nil || f.batch.Len() < maxBatchBytes) {
		return nil
	}
	if err := c.commit(); err != nil || urgent {
		return err
	}
	for {
		r, _ := c.queue.take(true)
		if r == nil {
			return nil
		}
		if err := c.serve(r); err != nil {
			return err
		}
	}
}

// commit applies the batch that was filled and sends it on its way.
func (c *committer) commit() error {
	f := c.filling
	if f.batch == nil && len(f.requests) == 0 {
		return nil
	}
	c.filling = &flight{}
	if err := c.apply(f); err != nil {
		return err
	}
	c.counts.publish(c.book.settle())
	c.lanes.Added(f.scheduled)
	clear(c.bodies)
	clear(c.idem)
	c.forget(f)
	c.dispatch(f)
	return nil
}

// apply makes f's batch visible. A panic or an error means that Pebble's commit
// pipeline is stuck for good.
func (c *committer) apply(f *flight) (err error) {
	if f.batch == nil {
		return nil
	}
	if err := c.broken(); err != nil {
		return err
	}
	if err := errors.Join(c.book.write(f.batch), c.log.write(f.batch)); err != nil {
		return err
	}
	f.applied = time.Now()
	defer func() {
		if p := recover(); p != nil {
			c.wedge()
			err = fmt.Errorf("write the log: %v", p)
		}
	}()
	if f.durable {
		c.number++
		f.number = c.number
		c.value = binary.BigEndian.AppendUint64(c.value[:0], f.number)
		c.value = binary.BigEndian.AppendUint64(c.value, c.log.last)
		if err := f.batch.Set(numberKey, c.value, nil); err != nil {
			return err
		}
		c.progress.announced.Store(f.number)
		return c.db.ApplyNoSyncWait(f.batch, pebble.Sync)
	}
	if err := c.db.Apply(f.batch, pebble.NoSync); err != nil {
		return err
	}
	err = f.batch.Close()
	f.batch = nil
	return err
}

// forget removes from recent what the database itself now answers for: the
// records of batches that are synced, and those of f that need no sync. Of a task
// that runs the record stays: its settlement is what comes next, and to find it
// in the tables is the dearest part of that. There are no more of them than attempts.
func (c *committer) forget(f *flight) {
	c.unsynced = append(c.unsynced, touched{number: f.number, keys: f.keys})
	synced := c.progress.newest()
	for len(c.unsynced) > 0 && c.unsynced[0].number <= synced {
		for _, key := range c.unsynced[0].keys {
			if got := c.recent[key]; got.dirty <= synced && (got.record == nil || got.record.State != task.Running) {
				delete(c.recent, key)
			}
		}
		c.unsynced = c.unsynced[1:]
	}
}

// dispatch answers the requests that have nothing to wait for, and hands the
// others to the syncer.
func (c *committer) dispatch(f *flight) {
	synced := c.progress.newest()
	var earlier, own []*request
	for _, r := range f.requests {
		switch {
		case r.wait <= synced:
			close(r.done)
		case r.wait < f.number || f.number == 0:
			earlier = append(earlier, r)
		default:
			own = append(own, r)
		}
	}
	if len(earlier) > 0 {
		c.launch(&flight{requests: earlier})
	}
	if f.number > 0 {
		f.requests = own
		c.launch(f)
	}
}

// launch hands f to the syncer, unless that has ended.
func (c *committer) launch(f *flight) {
	select {
	case c.flights <- f:
	case <-c.failed:
	}
}

// syncer waits for the flights in their order, and answers their requests.
func (s *Store) syncer(flights <-chan *flight) {
	defer close(s.syncerDone)
	for f := range flights {
		if f.number > 0 {
			if err := s.config.await(f.batch); err != nil {
				s.fail("sync the log", err)
				return
			}
			if err := s.watermark.set(f.number); err != nil {
				s.fail("record the newest synced batch", err)
				return
			}
			s.progress.move(f.number)
			s.publish(f)
		}
		hint := s.watcher.Load() // whoever watches from the answers on is not told of what was before
		for _, r := range f.requests {
			close(r.done)
		}
		if news := append(f.scheduled, f.ended...); hint != nil && len(news) > 0 {
			(*hint)(news)
		}
	}
}

// publish shows what a synced flight has brought that is not read from the database.
func (s *Store) publish(f *flight) {
	if s.config.OnSync != nil {
		s.config.OnSync(time.Since(f.applied), f.steps)
	}
	if f.settings == nil {
		return
	}
	s.settings.Store(f.settings)
	if tell := s.told.Load(); tell != nil {
		(*tell)(f.settings)
	}
}

// await waits until batch is synced, and frees it.
func await(batch *pebble.Batch) error {
	err := batch.SyncWait()
	return errors.Join(err, batch.Close())
}
