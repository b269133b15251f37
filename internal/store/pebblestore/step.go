package pebblestore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/task"
)

// step applies one step of r in the batch being filled, and its error is a failure of
// the medium.
func (c *committer) step(r *request, st *store.Step) (store.Reply, error) {
	owner, err := c.ownerOf(st)
	if err != nil {
		return store.Reply{}, err
	}
	old, inline, err := c.load(r, st.Key)
	if err != nil {
		return store.Reply{}, err
	}
	var body []byte
	var known bool
	if st.Kind.NeedsBody() { // before put removes it from the cache
		body, known = c.knownBody(old, inline)
	}
	if st.Kind == store.Fire && old != nil {
		if !known {
			if body, err = getBody(c.db, old); err != nil {
				return store.Reply{}, err
			}
		}
		old = withBody(old, body)
	}
	d := kernel.Decide(r.now, r.who, st, owner, old, (*deciding)(c))
	if !d.Applied {
		r.wait = max(r.wait, c.seen(d.Seen, task.Key{Namespace: st.Key.Namespace, Name: owner}))
		return store.Reply{Err: d.Err}, nil
	}
	reply := store.Reply{Result: d.Result, Err: d.Err}
	if d.Task != old {
		if err := c.put(r, old, inline, d.Task, d.Synced || st.Kind == store.Claim && c.suspects.has(d.Task)); err != nil {
			return store.Reply{}, err
		}
	}
	if d.Spawned != nil {
		if err := c.spawn(r, d.Spawned); err != nil {
			return store.Reply{}, err
		}
	}
	if st.Kind == store.Claim && d.Err == nil {
		if !known {
			body, err = getBody(c.db, d.Task)
		}
		reply.Task = withBody(d.Task, body)
	}
	return reply, err
}

// spawn creates t unless its name is in use.
func (c *committer) spawn(r *request, t *task.Task) error {
	old, _, err := c.load(r, t.Key())
	if err != nil || old != nil {
		return err
	}
	return c.put(r, nil, nil, t, true)
}

// deciding is the committer as the facts of a decision.
type deciding committer

func (d *deciding) Settings() *settings.Settings { return d.newest }

func (d *deciding) Retention() task.Policy { return d.config.Policy }

func (d *deciding) Unfinished(schedule task.Key) int64 { return d.counters.unfinished(schedule) }

// Quota implements kernel.Facts: the counts are those after the steps before.
func (d *deciding) Quota(namespace string) task.Quota {
	n, ok := d.newest.Get(settings.SettingKey{Kind: settings.NamespaceKind, Name: namespace}).(*settings.NamespaceSettings)
	if !ok {
		return task.Quota{}
	}
	return n.Quota(d.counters.namespace(namespace))
}

// Room implements kernel.Facts. New and revived tasks must not use the reserve, other
// changes can use half of it, and steps that end tasks all of it.
func (d *deciding) Room(need kernel.Need) error {
	d.reserve.refresh(d.Store, time.Now())
	space := d.reserve.space
	if !space.short(1) || need == kernel.MoreBytes && !space.short(2) {
		return nil
	}
	return fmt.Errorf("%w: the disk has %d bytes left: free some space or enlarge the disk", task.ErrFull, space.Free)
}

// seen returns the newest batch that must be synced before a refusal, where owner is
// the record that has the step's Idempotency-Key.
func (c *committer) seen(part kernel.Seen, owner task.Key) uint64 {
	switch part {
	case kernel.SeenKeyOwner:
		return c.recent[owner].dirty
	case kernel.SeenSettings:
		return c.edited
	case kernel.SeenCounts:
		return c.dirty() // for the records that fill the quota
	}
	return 0 // load has waited for the record
}

// dirty returns the number of the newest batch that must be synced.
func (c *committer) dirty() uint64 {
	if c.filling.durable {
		return c.number + 1
	}
	return c.number
}

// load returns the record of key after the steps before, without its body, and
// the body if it is a part of the record. Both are nil if there is none.
func (c *committer) load(r *request, key task.Key) (t *task.Task, inline []byte, err error) {
	if got, ok := c.recent[key]; ok {
		r.wait = max(r.wait, got.dirty)
		if got.record == nil {
			return nil, nil, nil
		}
		return got.record.WithoutBody(), got.body, nil
	}
	t, ok, err := c.cache.record(key)
	if !ok {
		c.oldKey = appendTaskKey(c.oldKey[:0], taskPrefix, key)
		t, err = getRecordAt(c.db, key, c.oldKey)
	}
	if err != nil || t == nil {
		return nil, nil, err
	}
	inline, t.Request.Body = t.Request.Body, nil
	return t, inline, nil
}

// knownBody returns the body of t, where inline is the one in its record, unless only
// the tables have it.
func (c *committer) knownBody(t *task.Task, inline []byte) (body []byte, ok bool) {
	if t == nil || t.Request.BodySize == len(inline) {
		return inline, true
	}
	if body, ok := c.bodies[t.Key()]; ok {
		return body, true
	}
	_, body, ok = c.cache.find(t.Key())
	return bytes.Clone(body), ok
}

func withBody(t *task.Task, body []byte) *task.Task {
	loaded := *t
	loaded.Request.Body = body
	return &loaded
}

// ownerOf returns the name of the task that the step's Idempotency-Key created,
// "" if it has none, or if no such task still exists.
func (c *committer) ownerOf(st *store.Step) (string, error) {
	used := task.KeyOf(st.Transition)
	if used == "" {
		return "", nil
	}
	return c.keyOwner(idemKey{st.Key.Namespace, used})
}

// keyOwner is ownerOf for an Idempotency-Key.
func (c *committer) keyOwner(k idemKey) (string, error) {
	if name, ok := c.idem[k]; ok {
		return name, nil
	}
	value, err := getValue(c.db, appendIdemKey(nil, k.namespace, k.digest))
	return string(value), err
}

// put writes the difference between old, which can be nil, and t into the batch. was is
// the body in the record of old. A body that t does not carry stays as it was.
func (c *committer) put(r *request, old *task.Task, was []byte, t *task.Task, mustSync bool) error {
	b, key, body := c.open(), t.Key(), t.Request.Body
	if body == nil && t.Request.BodySize > 0 {
		body = was
	}
	c.value = codec.AppendRecord(c.value[:0], t)
	var inside, outside []byte
	if len(body) <= c.config.inlineBody {
		inside = body
		c.value = codec.AppendBody(c.value, body)
	} else {
		outside = body
	}
	c.cache.note(r.now, t, c.value, outside, len(body) == t.Request.BodySize)
	c.note(r, key, t, inside, mustSync)
	c.counters.move(old, t)
	c.Wrote(old, t)
	c.recount.move(key, old, t)
	c.newKey = appendTaskKey(c.newKey[:0], taskPrefix, key)
	return errors.Join(
		b.Set(c.newKey, c.value, nil),
		c.putBody(b, old != nil && old.Request.BodySize > len(was), t, body),
		c.putIdempotency(b, old, t),
		c.putIndex(b, old, t),
	)
}

func (c *committer) open() *pebble.Batch {
	if c.filling.batch == nil {
		c.filling.batch = c.db.NewBatch()
	}
	return c.filling.batch
}

// note keeps a changed record for the later steps, with the body in it, except for a
// running task, because that record stays longer.
func (c *committer) note(r *request, key task.Key, record *task.Task, body []byte, mustSync bool) {
	var dirty uint64
	if mustSync {
		dirty = c.touch(r)
	} else {
		dirty = c.recent[key].dirty
	}
	if record != nil && record.State == task.Running {
		record = record.WithoutBody()
	}
	c.recent[key] = recent{record: record, body: body, dirty: dirty}
	c.filling.keys = append(c.filling.keys, key)
}

// touch makes r wait for the batch being filled, and returns the number of that
// batch.
func (c *committer) touch(r *request) uint64 {
	c.filling.durable = true
	r.wait = c.number + 1
	return r.wait
}

// putBody stores a large body of t, and removes one that is no longer needed. apart
// reports whether the old record has a body outside; body is nil if t keeps that one.
func (c *committer) putBody(b *pebble.Batch, apart bool, t *task.Task, body []byte) error {
	switch {
	case len(body) > c.config.inlineBody:
		c.bodies[t.Key()] = body
		c.newKey = appendTaskKey(c.newKey[:0], bodyPrefix, t.Key())
		op := b.SetDeferred(len(c.newKey), 1+len(body))
		copy(op.Key, c.newKey)
		op.Value[0] = codec.Format
		copy(op.Value[1:], body)
		return op.Finish()
	case apart && len(body) == t.Request.BodySize:
		delete(c.bodies, t.Key())
		c.newKey = appendTaskKey(c.newKey[:0], bodyPrefix, t.Key())
		return b.Delete(c.newKey, nil)
	}
	return nil
}

func (c *committer) putIdempotency(b *pebble.Batch, old, t *task.Task) error {
	if before, after := digest(old), digest(t); before != after {
		return errors.Join(
			c.putKeyOwner(b, t.Namespace, before, ""),
			c.putKeyOwner(b, t.Namespace, after, t.Name),
		)
	}
	return nil
}

// putKeyOwner sets the owner of an Idempotency-Key, or removes it if name is "".
func (c *committer) putKeyOwner(b *pebble.Batch, namespace, digest, name string) error {
	if digest == "" {
		return nil
	}
	c.idem[idemKey{namespace, digest}] = name
	c.newKey = appendIdemKey(c.newKey[:0], namespace, digest)
	if name == "" {
		return b.Delete(c.newKey, nil)
	}
	return b.Set(c.newKey, []byte(name), nil)
}

// digest returns the digest of the Idempotency-Key that made t, or "".
func digest(t *task.Task) string {
	if t == nil || t.Idempotency == nil {
		return ""
	}
	return t.Idempotency.Key
}

func (c *committer) putIndex(b *pebble.Batch, old, t *task.Task) error {
	if e, ok := task.Hint(old, t); ok && e.Hint != 0 {
		c.filling.notices = append(c.filling.notices, e)
	} else if ok {
		c.filling.scheduled = append(c.filling.scheduled, e)
	}
	left := kernel.EntriesOf(old)
	for _, e := range kernel.EntriesOf(t) {
		c.newKey, c.value = appendEntryKey(c.newKey[:0], t, e), appendEntryValue(c.value[:0], t, e.Index)
		had := len(left)
		left = slices.DeleteFunc(left, func(e kernel.Entry) bool {
			c.oldKey = appendEntryKey(c.oldKey[:0], old, e)
			return bytes.Equal(c.oldKey, c.newKey)
		})
		if len(left) < had && len(c.value) == 0 {
			continue // it stays as it is
		}
		if err := b.Set(c.newKey, c.value, nil); err != nil {
			return err
		}
	}
	for _, e := range left {
		c.oldKey = appendEntryKey(c.oldKey[:0], old, e)
		if err := b.Delete(c.oldKey, nil); err != nil {
			return err
		}
	}
	return nil
}

// appendEntryValue appends the value of the entry of t in an index.
func appendEntryValue(dst []byte, t *task.Task, in kernel.Index) []byte {
	switch in {
	case kernel.ByLease:
		return appendInstant(dst, t.Lease.Until)
	case kernel.ByRetention:
		return endedEntry{state: t.State, end: t.FinishedAt, size: t.Stored(), queue: t.Queue, digest: digest(t)}.append(dst)
	}
	return dst
}
