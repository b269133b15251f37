package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/marks"
	"github.com/foliot/foliot/internal/task"
)

// nodesKey is the hash of heartbeats, and the channel on which nodes say that
// they came, went, or released shards.
const nodesKey = "foliot:nodes"

// nobody is an owner's id that no shard has.
const nobody = "nobody"

// holding is a shard that this process owns. What becomes of the shard once it
// is lost is not this holding's any more: who owns it again has another one.
type holding struct {
	*shard
	id    string // the owner's, as put checks it; "": there are no leases
	marks *marks.Set
	ready atomic.Bool  // the marks know the shard's lanes
	until atomic.Int64 // the end of the lease, in nanoseconds after ownership.base
	stop  context.CancelFunc
}

// ownership is which shards this process owns, and what it knows of others.
type ownership struct {
	node, who string // who: <node>/<nonce>
	base      time.Time
	holdings  []atomic.Pointer[holding] // by shard; nil: not ours

	news      chan struct{}   // something has changed among the nodes
	leaving   chan struct{}   // closed by Release
	ended     chan struct{}   // closed when nothing is held any more
	hasty     context.Context // ends soon after Release: what tends shards then is given up
	hurry     context.CancelFunc
	once      sync.Once
	deaf      sync.Once // it was said that nothing can be heard
	listeners sync.WaitGroup

	// The rest is the loop's.
	states   []claimState
	live     []string
	nextBeat time.Time
}

// errConfig marks settings that cannot work.
var errConfig = errors.New("settings of the shards")

// check says what of c cannot work. A node must be heard of several times
// before others take it for dead, at half of its leases.
func (c Config) check() error {
	switch {
	case strings.Contains(c.Node, "/"):
		return fmt.Errorf("%w: the node's name %q has a slash: choose one without", errConfig, c.Node)
	case c.Shards < 1 || c.Shards > slots:
		return fmt.Errorf("%w: %d shards: there can be from 1 to %d", errConfig, c.Shards, slots)
	case c.Heartbeat <= 0 || c.LanePoll <= 0 || c.ShardLease < 4*c.Heartbeat:
		return fmt.Errorf("%w: a shard lease of %v with a heartbeat every %v: make it at least four times as long", errConfig, c.ShardLease, c.Heartbeat)
	}
	return c.Durability.check()
}

func newOwnership(node string, shards int) *ownership {
	nonce := rand.Text()
	if node == "" {
		node = "node-" + strings.ToLower(nonce[:8])
	}
	o := &ownership{
		node: node, who: node + "/" + nonce, base: time.Now(),
		holdings: make([]atomic.Pointer[holding], shards), states: make([]claimState, shards),
		news: make(chan struct{}, 1), leaving: make(chan struct{}), ended: make(chan struct{}),
	}
	o.hasty, o.hurry = context.WithCancel(context.Background())
	return o
}

// holding returns what makes sh this process's, or nil.
func (s *Store) holding(sh *shard) *holding {
	h := s.own.holdings[sh.number].Load()
	if h == nil || time.Since(s.own.base) >= time.Duration(h.until.Load()) {
		return nil
	}
	return h
}

// owned returns the shards that are this node's.
func (s *Store) owned() []*holding {
	all := make([]*holding, 0, len(s.shards))
	for _, sh := range s.shards {
		if h := s.holding(sh); h != nil && h.ready.Load() {
			all = append(all, h)
		}
	}
	return all
}

// owner returns the id that must own sh for what only its owner may do.
func (s *Store) owner(sh *shard) string {
	if h := s.holding(sh); h != nil {
		return h.id
	}
	return nobody
}

// takeAll makes every shard this process's, without leases.
func (s *Store) takeAll(ctx context.Context) error {
	for _, sh := range s.shards {
		h := &holding{shard: sh, marks: marks.New(), stop: func() {}}
		h.until.Store(1<<63 - 1)
		s.own.holdings[sh.number].Store(h)
	}
	close(s.own.ended)
	return s.prepare(ctx, s.all())
}

// all returns every holding, ready or not.
func (s *Store) all() (all []*holding) {
	for i := range s.own.holdings {
		if h := s.own.holdings[i].Load(); h != nil {
			all = append(all, h)
		}
	}
	return all
}

// join makes this process one of the nodes, and keeps it so until Release.
func (s *Store) join() {
	ctx, stop := context.WithCancel(context.Background())
	s.own.listeners.Go(func() { s.listen(ctx, nodesKey, func(string) { s.nudge() }) })
	s.own.listeners.Go(func() { s.pollLanes(ctx) })
	next := s.tend(ctx, false)
	go func() {
		defer close(s.own.ended)
		defer s.own.listeners.Wait()
		defer stop()
		s.keepShards(ctx, next)
	}()
}

func (s *Store) nudge() {
	select {
	case s.own.news <- struct{}{}:
	default:
	}
}

// keepShards tends the shards when it is time, until Release.
func (s *Store) keepShards(ctx context.Context, next time.Time) {
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	for {
		eager := false
		select {
		case <-s.own.leaving:
			s.leave(ctx)
			return
		case <-s.own.news:
			eager = true
		case <-timer.C:
		}
		timer.Reset(time.Until(s.tend(ctx, eager)))
	}
}

// Release gives all shards to the other nodes, at once and for good: this
// process claims nothing any more, and may settle and extend what it has
// claimed. It returns when others can have them. Close begins with it.
// Where the servers are away it gives up soon, and the shards' leases end by themselves.
func (s *Store) Release() {
	s.own.once.Do(func() {
		close(s.own.leaving)
		time.AfterFunc(farewell/2, s.own.hurry)
	})
	<-s.own.ended
}

// leave releases everything, and says so.
func (s *Store) leave(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, farewell/2)
	defer stop()
	var held []int
	for _, h := range s.all() {
		held = append(held, h.number)
	}
	if _, _, err := s.beat(ctx, false); err != nil { // first: who hears of the release is to know
		s.config.Logger.Warn("leave the nodes", "error", err)
	}
	s.release(ctx, held)
	s.announce(ctx)
}

// tend does what is to be done about the shards now, and returns when it is to
// be called again.
func (s *Store) tend(ctx context.Context, eager bool) time.Time {
	ctx, stop := context.WithTimeout(ctx, s.config.ShardLease/3)
	defer stop()
	defer context.AfterFunc(s.own.hasty, stop)()
	o, now := s.own, time.Now()
	if eager || !now.Before(o.nextBeat) {
		o.nextBeat = now.Add(s.config.Heartbeat)
		live, came, err := s.beat(ctx, true)
		if err != nil {
			s.config.Logger.Warn("tell the other nodes that this one lives", "node", o.node, "error", err)
		} else {
			o.live = live
		}
		if came {
			s.announce(ctx)
		}
	}
	s.forget(now)
	pace := pace{renew: s.config.ShardLease / 3, retry: s.config.Heartbeat}
	mine := wanted(o.live, o.node, len(s.shards))
	p := planFor(now, mine, o.states, pace, eager)
	if len(p.release) > 0 {
		s.release(ctx, p.release)
		s.announce(ctx)
	}
	s.hold(ctx, slices.Concat(p.renew, p.acquire))
	now = time.Now()
	next := o.nextBeat
	if p = planFor(now, mine, o.states, pace, false); !p.next.IsZero() && p.next.Before(next) {
		next = p.next
	}
	if len(p.acquire)+len(p.renew)+len(p.release) > 0 || next.Before(now) { // it failed
		next = now.Add(s.config.Heartbeat / 10)
	}
	return next
}

// forget drops the shards whose leases have ended.
func (s *Store) forget(now time.Time) {
	for i := range s.own.states {
		if c := s.own.states[i]; c.held && !now.Before(c.until) {
			s.config.Logger.Warn("the lease of a shard ended before it could be renewed", "shard", i)
			s.drop(i, claimState{})
		}
	}
}

// drop ends a holding.
func (s *Store) drop(i int, state claimState) {
	if h := s.own.holdings[i].Swap(nil); h != nil {
		h.stop()
	}
	s.own.states[i] = state
}

// beat says that this node lives, or that it goes, and returns those that
// live, and whether this one has come or gone just now.
func (s *Store) beat(ctx context.Context, lives bool) (live []string, changed bool, err error) {
	flag, silence := "0", s.config.ShardLease/2
	if lives {
		flag = "1"
	}
	r := beat.do(ctx, s.servers.client, []run{{[]string{nodesKey}, []string{s.own.node, flag, strconv.FormatInt((10 * silence).Milliseconds(), 10)}}})[0]
	reply, err := r.ToArray()
	if err != nil {
		return nil, false, err
	}
	if len(reply) < 2 {
		return nil, false, errDamaged
	}
	now, err := reply[0].AsInt64()
	if err != nil {
		return nil, false, err
	}
	news, err := reply[1].AsInt64()
	if err != nil {
		return nil, false, err
	}
	beats := map[string]task.Millis{}
	for i := 2; i+1 < len(reply); i += 2 {
		node, _ := reply[i].ToString()
		at, err := reply[i+1].AsInt64()
		if err != nil {
			return nil, false, err
		}
		beats[node] = task.Millis(at)
	}
	return liveNodes(beats, task.Millis(now), silence), news == 1, nil
}

// announce makes the other nodes look. It may get lost: they look now and then anyway.
func (s *Store) announce(ctx context.Context) {
	c := s.servers.client
	if err := c.Do(ctx, c.B().Spublish().Channel(nodesKey).Message(s.own.who).Build()).Error(); err != nil {
		s.config.Logger.Warn("tell the other nodes that shards are free", "error", err)
	}
}

// ownRuns returns the runs of own for shards.
func (s *Store) ownRuns(verb string, shards []int) []run {
	lease, ahead := s.config.ShardLease, s.config.ShardLease/3*2+time.Second
	runs := make([]run, len(shards))
	for n, i := range shards {
		runs[n] = run{[]string{s.shards[i].own}, []string{verb, s.own.who, strconv.FormatInt(lease.Milliseconds(), 10), strconv.FormatInt(ahead.Milliseconds(), 10)}}
	}
	return runs
}

// release gives shards up: first here, then for others.
func (s *Store) release(ctx context.Context, shards []int) {
	now := time.Now()
	for _, i := range shards {
		s.drop(i, claimState{since: now, until: now.Add(s.config.Heartbeat)})
	}
	for n, r := range own.do(ctx, s.servers.client, s.ownRuns("release", shards)) {
		if err := r.Error(); err != nil {
			s.config.Logger.Warn("release a shard: its next owner has to wait until our lease ends", "shard", shards[n], "error", err)
		}
	}
}

// hold acquires shards, or renews their leases. What fails is tried again.
func (s *Store) hold(ctx context.Context, shards []int) {
	if len(shards) == 0 {
		return
	}
	sent := time.Now() // a lease counts from here: it ends earlier for us than for others
	var fresh []*holding
	var failed error
	for n, r := range own.do(ctx, s.servers.client, s.ownRuns("hold", shards)) {
		i := shards[n]
		id, left, err := readOwner(r)
		if err != nil {
			failed = fmt.Errorf("shard %d: %w", i, err)
			continue
		}
		if !strings.HasPrefix(id, s.own.who+"/") {
			s.drop(i, claimState{since: sent, until: time.Now().Add(left)})
			continue
		}
		h := s.own.holdings[i].Load()
		if h == nil || h.id != id {
			s.drop(i, claimState{})
			h = s.newHolding(s.shards[i], id)
		}
		end := sent.Add(s.config.ShardLease)
		h.until.Store(int64(end.Sub(s.own.base)))
		s.own.states[i] = claimState{held: true, since: sent, until: end}
		s.own.holdings[i].Store(h)
		if !h.ready.Load() {
			fresh = append(fresh, h)
		}
	}
	if failed == nil && len(fresh) > 0 {
		failed = s.prepare(ctx, fresh)
	}
	if failed != nil {
		s.config.Logger.Warn("own shards", "error", failed)
	}
}

func (s *Store) newHolding(sh *shard, id string) *holding {
	h := &holding{shard: sh, id: id, marks: marks.New()}
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	s.own.listeners.Go(func() { s.listen(ctx, sh.wake, func(message string) { s.woken(h, message) }) })
	return h
}

// readOwner returns who owns a shard, and for how long yet.
func readOwner(r rueidis.RedisResult) (id string, left time.Duration, err error) {
	reply, err := r.AsStrSlice()
	if err != nil {
		return "", 0, err
	}
	if len(reply) != 2 {
		return "", 0, errDamaged
	}
	ms, err := strconv.ParseInt(reply[1], 10, 64)
	return reply[0], time.Duration(ms) * time.Millisecond, err
}

// prepare reads the lanes of shards that this process has acquired: from then
// on they count as owned.
func (s *Store) prepare(ctx context.Context, hs []*holding) error {
	if err := s.survey(ctx, hs); err != nil {
		return err
	}
	for _, h := range hs {
		h.ready.Store(true)
	}
	if s.watcher.Load() == nil {
		return nil
	}
	return s.discover(ctx, hs, true)
}
