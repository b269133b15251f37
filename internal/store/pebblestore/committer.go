package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// The bounds of one batch. A claim that is queued behind a batch waits until it is
// applied: 256 creates take about 2 ms. Pebble syncs all unsynced batches at once, so
// a slow disk means longer waits, but not fewer changes a second.
const (
	maxBatchSteps = 256
	maxBatchBytes = 1 << 20
	maxUnsynced   = 4 // batches that are applied and not yet answered
)

// committer makes every change of the store, in one goroutine, so that two changes of a
// record never run at the same time. (If each caller committed its own Pebble batch,
// every record would need a lock.) The syncer, in another goroutine, waits for the
// disk. A batch goes through three stages, while the next one is in the stage before,
// so one fsync serves all calls that arrived during the one before:
//
//	filled    The committer decides the steps of queued requests, and writes the
//	          differences, until the queue is empty or the batch is full.
//	applied   The batch gets the next number, the number is announced, and Pebble
//	          shows the batch to readers. Its write to the log is under way.
//	synced    The syncer has waited for the log, and moves progress to the number.
//	          Now its requests are answered and the watcher is called.
//
// No change is confirmed before it is synced, and every call that has seen an applied
// change waits too. A request waits for the newest batch that changed a record it looked
// at (recent), even if the request changed nothing. A reader waits for the number that
// was announced when its read ended.
//
// Claims are different: if a crash undoes a claim, the task is due again, as it would
// be after the restart had reaped the lease. So a claim is written without a sync, and
// its reply waits only if an unsynced batch changed its record. The exception is in
// suspects.
type committer struct {
	*Store
	toSyncer chan *writeBatch // to the syncer; closed when the committer ends

	filling  *writeBatch
	number   uint64 // the number of the newest numbered batch; the batch being filled gets the next number
	recent   map[task.Key]recent
	cache    recordCache
	unsynced []touched // the batches that keep records in recent, the oldest first

	// The contents of the batch being filled, for its later steps.
	bodies map[task.Key][]byte
	idem   map[idemKey]string // "": removed

	newest   *settings.Settings // the settings after all batches, including the one being filled
	edited   uint64             // the newest batch that changed them
	counters *counters
	recount  recount // by the scrub that is under way
	entry    uint64  // the number of the newest entry of the audit log

	suspects              suspects
	reserve               reserve
	oldKey, newKey, value []byte // scratch
}

// recent is a record in the batch being filled or in an unsynced one, or the record of
// a running task.
type recent struct {
	record *task.Task // perhaps with its body; nil means that the record was removed
	body   []byte     // the body in the record
	dirty  uint64     // the newest batch that must be synced before a reply; zero means none
}

// touched is the records of a batch, which stay in recent until it is synced.
type touched struct {
	number uint64
	keys   []task.Key
}

// idemKey identifies an Idempotency-Key by namespace and digest, because namespaces do
// not share keys.
type idemKey struct{ namespace, digest string }

// writeBatch is a batch with everything that depends on it.
type writeBatch struct {
	number    uint64        // 0: nothing needs a sync, and the requests wait for earlier batches
	batch     *pebble.Batch // nil: empty
	steps     int
	durable   bool               // the batch must be synced
	settings  *settings.Settings // the settings after the batch; nil means that it does not change them
	applied   time.Time
	requests  []*request   // the requests to answer
	scheduled []task.Entry // added to the due index
	notices   []task.Entry // see task.Notice
	keys      []task.Key   // the keys of the records in the batch
}

// run handles requests until the queue is closed and empty, or the store has
// failed.
func (c *committer) run() {
	defer close(c.committerDone)
	defer close(c.toSyncer)
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

// drain handles the queued requests, and reports whether more can come.
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

// serve applies a request, which is answered with the batch of its last step.
func (c *committer) serve(r *request) error {
	var err error
	switch {
	case r.ctx.Err() != nil:
		r.err = r.ctx.Err()
	case r.sweep > 0:
		err = c.sweep(r)
	case r.scrub != nil:
		err = c.scrub(r)
	case r.past != nil:
		err = c.remember(r)
	case r.edits != nil:
		err = c.configure(r)
	default:
		err = c.carryOut(r)
	}
	c.filling.requests = append(c.filling.requests, r)
	return err
}

func (c *committer) carryOut(r *request) error {
	r.replies = make([]store.Reply, len(r.steps))
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

// makeRoom commits a full batch. The next batch begins with the urgent requests
// that came in the meantime, so that a claim does not wait for the rest of a
// long request.
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

// commit applies the batch being filled and passes it to the syncer.
func (c *committer) commit() error {
	f := c.filling
	if f.batch == nil && len(f.requests) == 0 {
		return nil
	}
	c.filling = &writeBatch{ // the next batch is often as large as this one
		scheduled: make([]task.Entry, 0, len(f.scheduled)),
		keys:      make([]task.Key, 0, len(f.keys)),
	}
	if err := c.apply(f); err != nil {
		return err
	}
	c.counts.publish(c.counters.settle())
	c.lanes.Added(f.scheduled)
	clear(c.bodies)
	clear(c.idem)
	c.forget(f)
	c.answer(f)
	return nil
}

// apply makes the batch of f visible, and after a panic or an error Pebble's commit
// pipeline is stuck for good.
func (c *committer) apply(f *writeBatch) (err error) {
	if f.batch == nil {
		return nil
	}
	if err := c.broken(); err != nil {
		return err
	}
	if err := c.counters.write(f.batch); err != nil {
		return err
	}
	f.applied = time.Now()
	defer func() {
		if p := recover(); p != nil {
			c.markStuck()
			err = fmt.Errorf("write the log: %v", p)
		}
	}()
	if f.durable {
		c.number++
		f.number = c.number
		c.value = binary.BigEndian.AppendUint64(c.value[:0], f.number)
		c.value = binary.BigEndian.AppendUint64(c.value, c.entry)
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

// forget removes records from recent when reads of the database return them: the
// records of synced batches, and those of f if it needs no sync. The record of a
// running task stays, because its settlement comes next, and the look-up in the tables
// would be the most expensive part of that. There are no more such records than
// attempts.
func (c *committer) forget(f *writeBatch) {
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

// answer answers the requests that need not wait, and passes the other requests
// to the syncer.
func (c *committer) answer(f *writeBatch) {
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
		c.sendToSyncer(&writeBatch{requests: earlier})
	}
	if f.number > 0 {
		f.requests = own
		c.sendToSyncer(f)
	}
}

// sendToSyncer passes f to the syncer, unless the store has failed.
func (c *committer) sendToSyncer(f *writeBatch) {
	select {
	case c.toSyncer <- f:
	case <-c.failed:
	}
}

// syncer waits for the batches in order, and answers their requests.
func (s *Store) syncer(batches <-chan *writeBatch) {
	defer close(s.syncerDone)
	for f := range batches {
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
		hint := s.Tasks() // a watcher that is set after the replies gets no hints of earlier changes
		for _, r := range f.requests {
			close(r.done)
		}
		if news := append(f.scheduled, f.notices...); hint != nil && len(news) > 0 {
			hint(news)
		}
	}
}

// publish passes on those results of a synced batch that are not read from the
// database.
func (s *Store) publish(f *writeBatch) {
	if s.config.OnSync != nil {
		s.config.OnSync(time.Since(f.applied), f.steps)
	}
	if f.settings == nil {
		return
	}
	s.settings.Store(f.settings)
	s.Watchers.Settings(f.settings)
}

// await waits until batch is synced, and frees it.
func await(batch *pebble.Batch) error {
	err := batch.SyncWait()
	return errors.Join(err, batch.Close())
}
