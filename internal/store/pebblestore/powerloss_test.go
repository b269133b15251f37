package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/storetest"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// seeds is the number of seeds of the power loss test: FOLIOT_SEEDS, or a few.
func seeds(t *testing.T) uint64 {
	n, err := strconv.ParseUint(os.Getenv("FOLIOT_SEEDS"), 10, 64)
	if os.Getenv("FOLIOT_SEEDS") == "" {
		n, err = quick.Of[uint64](12, 4), nil
	}
	if err != nil {
		t.Fatalf("FOLIOT_SEEDS: %v", err)
	}
	return n
}

func TestNoAnsweredChangeIsLostByPowerLoss(t *testing.T) {
	var answered int
	for seed := range seeds(t) {
		lost, n := powerLoss(t, seed, Config{})
		answered += n
		for _, l := range lost {
			t.Errorf("seed %d: %s", seed, l)
		}
	}
	t.Logf("%d seeds, %d crash points, %d answered changes, lost 0 unless said above", seeds(t), seeds(t)*crashes, answered)
}

// The check of the check: it must catch a store that answers before the sync.
func TestPowerLossCatchesAStoreThatAnswersBeforeTheSync(t *testing.T) {
	sabotaged := Config{await: func(b *pebble.Batch) error {
		go func() { _ = await(b) }()
		return nil
	}}
	for seed := range max(seeds(t), 50) {
		if lost, _ := powerLoss(t, seed, sabotaged); len(lost) > 0 {
			t.Logf("caught at seed %d: %s", seed, lost[0])
			return
		}
	}
	t.Fatal("a store that answers before the sync lost nothing: the test proves nothing")
}

// crashes is how often the power fails in one run of powerLoss.
const crashes = 3

// powerLoss lets clients change tasks, and cuts the power at random moments. It
// returns the confirmed changes that are missing afterwards, and the number of
// confirmed changes.
func powerLoss(t *testing.T, seed uint64, c Config) (lost []string, answered int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	c.MemTableSize = 256 << 10 // small, so that tables are written and logs change all the time
	disk := vfs.NewCrashableMem()
	clients := make([]*client, 8)
	for i := range clients {
		clients[i] = &client{id: i, rng: rand.New(rand.NewPCG(seed, uint64(i+1))), tasks: map[string]*expected{}}
	}
	for range crashes {
		crashed := live(t, disk, c, rng, clients)
		found, err := audit(t, crashed, clients)
		if err != nil {
			return append(lost, err.Error()), answered
		}
		lost = append(lost, found...)
		disk = crashed
	}
	for _, c := range clients {
		answered += c.answered
	}
	return lost, answered
}

// live runs the clients on a store until the power fails. It returns the disk
// after that.
func live(t *testing.T, disk *vfs.MemFS, c Config, rng *rand.Rand, clients []*client) *vfs.MemFS {
	t.Helper()
	s := open(t, slowSync(disk, rng.Uint64()), c)
	defer func() { _ = s.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan struct{})
	var running sync.WaitGroup
	for _, cl := range clients {
		running.Go(func() { cl.run(ctx, s, answers) })
	}
	for range 1 + rng.IntN(300) {
		<-answers
	}
	for _, cl := range clients {
		cl.mu.Lock() // from here on no client records a reply that the crash may undo
	}
	crashed := disk.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: rng.IntN(101),
		RNG:                 rand.New(rand.NewPCG(rng.Uint64(), 0)),
	})
	for _, cl := range clients {
		cl.frozen = true
		cl.mu.Unlock()
	}
	cancel()
	running.Wait()
	for _, cl := range clients {
		cl.frozen = false
	}
	return crashed
}

// slowSync is a disk with slow syncs of the log, so that the power can fail
// during one.
func slowSync(fs vfs.FS, seed uint64) vfs.FS {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0))
	return errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if isLogSync(op) {
			mu.Lock()
			wait := time.Duration(rng.IntN(200)) * time.Microsecond
			mu.Unlock()
			time.Sleep(wait) // the disk's latency; no goroutine waits for its end
		}
		return nil
	}))
}

func isLogSync(op errorfs.Op) bool {
	switch op.Kind {
	case errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo:
		return strings.HasSuffix(op.Path, ".log")
	}
	return false
}

// audit compares the disk with the replies that the clients got.
func audit(t *testing.T, disk *vfs.MemFS, clients []*client) (lost []string, err error) {
	t.Helper()
	s, err := Open("data", Config{FS: disk, Policy: storetest.Policy, MemTableSize: 256 << 10})
	if err != nil {
		return nil, fmt.Errorf("open after the power failed: %w", err)
	}
	defer func() { _ = s.Close() }()
	for _, c := range clients {
		for name, want := range c.tasks {
			got, err := s.Get(t.Context(), tasktest.Key(name))
			if err != nil && !errors.Is(err, task.ErrNotFound) {
				return lost, fmt.Errorf("get %s: %w", name, err)
			}
			if print := fingerprint(got); !want.allows(print) {
				lost = append(lost, fmt.Sprintf("%s is %s, was answered as %s", name, print, strings.Join(want.prints, " or ")))
			}
			want.record, want.prints = got, []string{fingerprint(got)}
		}
		lost = append(lost, c.auditQueue(s)...)
		fired, err := firedOf(t.Context(), s, c.scheduleName())
		if err != nil || fired < c.fired {
			lost = append(lost, fmt.Sprintf("%d instants of %s were fired, %d answered: %v", fired, c.scheduleName(), c.fired, err))
		}
		c.fired = fired
	}
	unrecorded, err := auditLog(t.Context(), s, clients)
	if err != nil {
		return lost, err
	}
	lost = append(lost, unrecorded...)
	wantExactCounts(t, s)
	storetest.CheckInvariants(t, s, benchStart, task.DefaultNamespace)
	return lost, nil
}

// auditQueue compares the client's queue with the replies about it.
func (c *client) auditQueue(s *Store) (lost []string) {
	got := s.Standing().Settings.Queue(task.DefaultNamespace, c.queueName()).Version
	if got < c.queueAnswered || got > c.queueAsked {
		lost = append(lost, fmt.Sprintf("queue %s has version %d, %d was answered and %d asked for", c.queueName(), got, c.queueAnswered, c.queueAsked))
	}
	c.queueAnswered, c.queueAsked = got, got
	return lost
}

// auditLog returns the settings whose last edit has no entry in the audit log, and
// the entries without an edit.
func auditLog(ctx context.Context, s *Store, clients []*client) (wrong []string, err error) {
	newest := map[string]settings.AuditEntry{} // by target
	for before := uint64(0); ; {
		page, err := s.Audit(ctx, settings.AuditFilter{}, before, 1000)
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		for _, e := range page.Entries {
			if _, seen := newest[e.Target]; !seen {
				newest[e.Target] = e
			}
		}
		if before = page.Next; before == 0 {
			break
		}
	}
	for _, c := range clients {
		if e := newest[c.queueName()]; e.Version != c.queueAnswered {
			wrong = append(wrong, fmt.Sprintf("queue %s has version %d, its last entry in the audit log is %+v", c.queueName(), c.queueAnswered, e))
		}
	}
	return wrong, nil
}

// client changes its own tasks, one change after the other, a queue and a schedule.
type client struct {
	id  int
	rng *rand.Rand

	mu       sync.Mutex // guards all fields below
	tasks    map[string]*expected
	made     int
	answered int
	frozen   bool // the power has failed: replies are no longer recorded

	queueAnswered, queueAsked uint64 // versions of the queue's settings
	fired                     int64  // instants of the client's schedule
}

func (c *client) queueName() string { return fmt.Sprintf("queue-%d", c.id) }

// configure changes the settings of the client's queue.
func (c *client) configure(ctx context.Context, s *Store) error {
	c.mu.Lock()
	if !c.frozen {
		c.queueAsked++
	}
	c.mu.Unlock()
	edit := settings.PauseQueue{Namespace: task.DefaultNamespace, Name: c.queueName(), Paused: true}
	replies, err := s.Configure(ctx, benchStart, []settings.Edit{edit})
	if err != nil || replies[0].Err != nil {
		return errors.Join(err, fmt.Errorf("pause: %v", replies))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.frozen {
		c.queueAnswered = replies[0].Changes[0].Value.(*settings.QueueSettings).Version
		c.answered++
	}
	return nil
}

// expected is the state in which a task may be after a crash.
type expected struct {
	record *task.Task // after its last confirmed change
	prints []string   // of that record, and of the record after the change under way
}

func (e *expected) allows(print string) bool {
	for _, p := range e.prints {
		if p == print {
			return true
		}
	}
	return false
}

// fingerprint describes the parts of a task that a crash must not change. It
// does not include whether the task is running, because a claim may be lost,
// and a lease is reaped.
func fingerprint(t *task.Task) string {
	if t == nil {
		return "nothing"
	}
	state := t.State.String()
	if t.State.Live() {
		state = "live"
	}
	return fmt.Sprintf("%s %s.%d spent %d body %d", state, t.ID, t.Version, t.AttemptsUsed, t.Request.BodySize)
}

func (c *client) run(ctx context.Context, s *Store, answers chan<- struct{}) {
	for ctx.Err() == nil {
		if err := c.one(ctx, s); err != nil {
			return
		}
		select {
		case answers <- struct{}{}:
		case <-ctx.Done():
		}
	}
}

// one makes one random change.
func (c *client) one(ctx context.Context, s *Store) error {
	c.mu.Lock()
	kind := c.rng.IntN(8)
	c.mu.Unlock()
	switch kind {
	case 0:
		return c.configure(ctx, s)
	case 1:
		return c.fire(ctx, s)
	}
	return c.change(ctx, s, c.pick())
}

func (c *client) scheduleName() string { return fmt.Sprintf("s%d", c.id) }

// fire fires the next instant of the client's schedule.
func (c *client) fire(ctx context.Context, s *Store) error {
	c.mu.Lock()
	first := c.fired == 0
	c.mu.Unlock()
	if first {
		if err := apply(ctx, s, eachSecond(c.scheduleName())); err != nil {
			return err
		}
	}
	if r, err := fireOne(ctx, s, benchStart+5e6, c.scheduleName()); err != nil || r.Spawned == nil {
		return errors.Join(err, fmt.Errorf("fire: %+v", r))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.frozen {
		c.fired++
		c.answered++
	}
	return nil
}

// pick returns the name of a task of the client, or a new name.
func (c *client) pick() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == 0 || c.rng.IntN(3) == 0 {
		c.made++
		name := fmt.Sprintf("c%d-%d", c.id, c.made)
		c.tasks[name] = &expected{prints: []string{fingerprint(nil)}}
		return name
	}
	return fmt.Sprintf("c%d-%d", c.id, 1+c.rng.IntN(c.made))
}

// change makes a change that is allowed for its task.
func (c *client) change(ctx context.Context, s *Store, name string) error {
	c.mu.Lock()
	e := c.tasks[name]
	old, key := e.record, tasktest.Key(name)
	id := fmt.Sprintf("%s-%d", name, c.rng.Uint64())
	c.mu.Unlock()
	spec := newSpec(name, benchStart)
	spec.ID = id
	spec.Request.Body = []byte(strings.Repeat("x", c.rng.IntN(2000)))
	spec.Request.BodySize = len(spec.Request.Body)
	switch {
	case old == nil:
		return c.apply(ctx, s, e, task.Create{Spec: spec})
	case !old.State.Live():
		return c.apply(ctx, s, e, task.Replace{Spec: spec})
	}
	switch c.rng.IntN(4) {
	case 0:
		return c.apply(ctx, s, e, task.Cancel{Key: key})
	case 1:
		return c.apply(ctx, s, e, task.Run{Key: key})
	case 2:
		return c.apply(ctx, s, e, task.Replace{Spec: spec})
	}
	return c.attempt(ctx, s, e, old)
}

// apply makes one change. The transition determines the expected record.
func (c *client) apply(ctx context.Context, s *Store, e *expected, change task.Change) error {
	next, err := change.Apply(benchStart, e.record, task.Facts{Policy: storetest.Policy})
	if err != nil {
		return fmt.Errorf("the test itself is wrong: %T: %w", change, err)
	}
	c.expect(e, next.Task)
	replies, err := s.Transit(ctx, benchStart, store.Changes([]task.Change{change}))
	return c.note(e, replies, err)
}

// attempt claims the task and settles it.
func (c *client) attempt(ctx context.Context, s *Store, e *expected, old *task.Task) error {
	now := max(benchStart, old.Due)
	token := task.Token(fmt.Sprintf("%s-%d", old.Name, c.rng.Uint64()))
	replies, err := s.Transit(ctx, now, store.Claims([]task.Claim{tasktest.Claim(old, token, now+1000)}))
	if err != nil || replies[0].Err != nil {
		return errors.Join(err, firstError(replies))
	}
	outcome := task.Outcome{Verdict: task.Success, Status: 200, StartedAt: now}
	if c.rng.IntN(2) == 0 {
		outcome = task.Outcome{Verdict: task.Failure, Status: 500, StartedAt: now, Error: "500"}
	}
	settlement := task.Settlement{Key: old.Key(), Token: token, Outcome: outcome}
	next, err := settlement.Apply(now, replies[0].Task, task.Facts{Policy: storetest.Policy})
	if err != nil {
		return err
	}
	c.expect(e, next.Task)
	replies, err = s.Transit(ctx, now, store.Settlements([]task.Settlement{settlement}))
	return c.note(e, replies, err)
}

func firstError(replies []store.Reply) error {
	if len(replies) == 0 {
		return nil
	}
	return replies[0].Err
}

// expect records that a change is under way.
func (c *client) expect(e *expected, next *task.Task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.frozen {
		e.prints = append(e.prints, fingerprint(next))
	}
}

// note records the reply.
func (c *client) note(e *expected, replies []store.Reply, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := errors.Join(err, firstError(replies)); err != nil {
		return err
	}
	if !c.frozen {
		e.record, e.prints = replies[0].Task, []string{fingerprint(replies[0].Task)}
		c.answered++
	}
	return nil
}

// firedOf returns how many instants of a schedule were fired. It returns an
// error if the schedule and the tasks do not agree: there must be one task for
// each instant from the first on.
func firedOf(ctx context.Context, s *Store, name string) (int64, error) {
	record, err := s.Get(ctx, scheduleKey(name))
	if errors.Is(err, task.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	runs := record.Recur.Runs
	for i := range runs + 1 {
		t, err := s.Get(ctx, tasktest.Key(task.OccurrenceName(name, benchStart+1000+task.Millis(i)*1000)))
		switch {
		case i < runs && err != nil:
			return runs, fmt.Errorf("of %d runs that of instant %d: %w", runs, i, err)
		case i == runs && !errors.Is(err, task.ErrNotFound):
			return runs, fmt.Errorf("the schedule has %d runs, and there is one more: %v, %w", runs, t, err)
		}
	}
	if next := benchStart + 1000 + task.Millis(runs)*1000; record.Recur.Next != next {
		return runs, fmt.Errorf("after %d runs the next instant is %d, not %d", runs, record.Recur.Next, next)
	}
	return runs, nil
}
