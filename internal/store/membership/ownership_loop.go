package membership

import (
	"context"
	"slices"
	"strings"
	"time"
)

// Join makes this process one of the nodes until Release. After Release, Join
// does nothing. Each function of alongside runs in its own goroutine. It must
// return when its context ends.
func (o *Member) Join(alongside ...func(context.Context)) {
	if !o.starts() {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	o.listeners.Go(func() { o.registry.Listen(ctx, o.WakeLoop) })
	o.listeners.Go(func() { o.publishSums(ctx) })
	for _, work := range alongside {
		o.listeners.Go(func() { work(ctx) })
	}
	next := o.step(ctx, false)
	go func() {
		defer close(o.Ended)
		defer o.listeners.Wait()
		defer stop()
		o.loop(ctx, next)
	}()
}

// WakeLoop makes the loop send a heartbeat and read the nodes at once.
func (o *Member) WakeLoop() {
	select {
	case o.news <- struct{}{}:
	default:
	}
}

// loop runs a step whenever one is due, until Release.
func (o *Member) loop(ctx context.Context, next time.Time) {
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	for {
		eager := false
		select {
		case <-o.leaving:
			o.leave(ctx)
			o.count()
			return
		case <-o.news:
			eager = true
		case <-timer.C:
		}
		timer.Reset(time.Until(o.step(ctx, eager)))
		o.count()
	}
}

// A store that stops waits for servers that are away: for a step of the loop,
// then for the release of shards, and for calls under way. The sum is two
// seconds.
const (
	stepEnds    = 300 * time.Millisecond
	releaseEnds = 700 * time.Millisecond
)

// Release gives all shards to the other nodes at once and for good. This
// process claims nothing from then on, but can settle and extend its claims.
// Release returns when other nodes can acquire the shards. Close begins with
// it. If the servers are away, Release ends soon, and the leases of the
// shards end by themselves.
func (o *Member) Release() {
	o.once.Do(func() {
		o.begin.Lock()
		if o.released = true; !o.begun {
			close(o.Ended)
		}
		o.begin.Unlock()
		close(o.leaving)
		time.AfterFunc(stepEnds, o.cancelStep)
	})
	select {
	case <-o.Ended:
	case <-time.After(stepEnds + releaseEnds):
	}
}

// leave releases all shards and logs it.
func (o *Member) leave(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, releaseEnds)
	defer stop()
	var held []int
	for _, h := range o.all() {
		held = append(held, h.Shard)
	}
	// Send the heartbeat first, so that nodes that receive the release no
	// longer count this node as live.
	_, err := o.beat(ctx, Leave)
	o.config.Note("announce that this node leaves", err)
	if o.release(ctx, held) {
		o.config.Logger.Info("this node released all its shards", "shards", len(held))
	}
	o.registry.Announce(ctx)
}

// step sends heartbeats and acquires, renews and releases shards as far as that
// is due. It returns the time of the next step.
func (o *Member) step(ctx context.Context, eager bool) time.Time {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(o.stepContext, stop)()
	now := time.Now()
	if o.config.Closed() {
		o.disownAll()
		o.nextBeat = time.Time{}
		return now.Add(o.config.Heartbeat)
	}
	o.disownExpired(now)
	if eager || !now.Before(o.nextBeat) {
		o.nextBeat = now.Add(o.config.UntilNext(o.config.Heartbeat))
		o.within(ctx, o.heartbeat)
		now = time.Now()
	}
	pace := pace{renew: o.config.Lease / 3, retry: o.config.Heartbeat}
	if !now.Before(o.nextAdopt) {
		o.nextAdopt = now.Add(o.config.Lease)
		o.within(ctx, o.adopt)
		now = time.Now()
	}
	o.disownExpired(now)
	p := planFor(now, o.wants(now), o.states, pace, eager)
	if len(p.release) > 0 {
		o.within(ctx, func(ctx context.Context) {
			o.release(ctx, p.release)
			o.registry.Announce(ctx)
		})
	}
	o.hold(ctx, slices.Concat(p.renew, p.acquire))
	now = time.Now()
	o.disownExpired(now)
	next := o.nextBeat
	if p = planFor(now, o.wants(now), o.states, pace, false); !p.next.IsZero() && p.next.Before(next) {
		next = p.next
	}
	if len(p.acquire)+len(p.renew)+len(p.release) > 0 || next.Before(now) { // a call failed
		next = now.Add(o.config.Heartbeat / 10)
	}
	o.log.write(o.config.Logger, now, o)
	return next
}

// within runs one part of a step with its own time limit. If one server of
// the registry hangs, which has the nodes or some shards, the leases of shards on
// other servers must still be renewed.
func (o *Member) within(ctx context.Context, do func(context.Context)) {
	ctx, stop := context.WithTimeout(ctx, o.config.Lease/6)
	defer stop()
	do(ctx)
}

// heartbeat sends a heartbeat, and reads which nodes share the shards. If that
// fails, the nodes known so far stay valid.
func (o *Member) heartbeat(ctx context.Context) {
	silence := o.config.Silence()
	h, err := o.beat(ctx, o.heartbeatMode(time.Now(), silence))
	o.config.Note("send a heartbeat", err)
	if err != nil {
		o.away, o.silent = time.Now(), time.Time{}
		if o.mine == nil {
			o.mine = make([]bool, len(o.owned))
		}
		return
	}
	peers, now, found := h.Peers, h.Now, h.Found
	first := !o.met
	o.met = true
	if duplicate := o.checkDuplicate(time.Now(), peers, now, found, silence); duplicate != nil || !o.uncertain(silence) {
		o.config.Note("use the node name", duplicate)
	}
	if found == Moved || first {
		o.registry.Announce(ctx)
	}
	var apis []string
	var lag time.Duration
	for _, p := range peers {
		apis = append(apis, p.APIs()...)
		if p.Nonce != o.self.Nonce {
			lag = max(lag, p.Lag)
		}
	}
	o.now = now
	o.apis.Store(&apis)
	o.lag.Store(int64(lag))
	peers = livePeers(peers, now, silence)
	o.log.notePeers(o.peers, peers)
	o.peers = peers
	o.nodes.Store(int64(len(peers)))
	takers := takers(peers)
	if found == Other {
		takers = nil
	}
	if o.mine == nil || !slices.Equal(takers, o.takers) {
		o.takers = takers
		o.mine, o.ranks = shares(takers, o.self.Name, len(o.owned))
		clear(o.orphans)
		clear(o.adopted)
	}
}

// An adopted shard is kept for adoptedFor times Config.Lease. After that
// the node that should own it can acquire it again.
const adoptedFor = 100

// adopt takes shards that had no owner for the length of a lease, although
// another node should own them. That happens if the other node is live but
// cannot reach their server. In each lease every node looks at another part of the
// shards, about as many as it owns, and again at those without an owner. The
// registry's clock says which part, so together the nodes look at all shards.
func (o *Member) adopt(ctx context.Context) {
	if !slices.Contains(o.takers, o.self.Name) {
		return
	}
	var others []int
	turns := max(len(o.takers)-1, 1)
	turn := int(o.now.Sub(0)/o.config.Lease) % turns
	for i, mine := range o.mine {
		if _, adopted := o.adopted[i]; !mine && !adopted && (o.orphans[i] || (o.ranks[i]+turn)%turns == 0) {
			others = append(others, i)
		}
	}
	before := o.orphans
	o.orphans = map[int]bool{}
	for n, g := range o.lease(ctx, LookAt, others) {
		switch i := others[n]; {
		case g.Err != nil:
			if before[i] {
				o.orphans[i] = true
			}
		case g.Owner != "" && g.Left > 0:
		case before[i]:
			o.adopted[i] = time.Now().Add(adoptedFor * o.config.Lease)
			o.log.note("other nodes did not acquire them")
		default:
			o.orphans[i] = true
		}
	}
}

// wants returns for each shard whether this process should own it now.
func (o *Member) wants(now time.Time) []bool {
	if len(o.adopted) == 0 {
		return o.mine
	}
	all := slices.Clone(o.mine)
	for i, until := range o.adopted {
		if c := o.states[i]; !now.Before(until) || !c.held && now.Before(c.until) { // it has an owner
			delete(o.adopted, i)
			continue
		}
		all[i] = true
	}
	return all
}

// disownAll removes all shards from this process without a call, because the
// registry is another store's.
func (o *Member) disownAll() {
	for i := range o.states {
		o.disown(i, claimState{})
	}
}

// disownExpired removes the shards whose leases have ended from this process.
func (o *Member) disownExpired(now time.Time) {
	lost, held, at := 0, 0, o.instant(now)
	for i := range o.states {
		switch c := o.states[i]; {
		case c.held && !o.owned[i].Load().holds(at):
			o.disown(i, claimState{})
			lost++
		case c.held:
			held++
		}
	}
	if lost > 0 {
		o.lost.Add(uint64(lost))
		o.log.lost(held)
		o.config.Logger.Warn("this node lost shards: their leases ended before it renewed them", "shards", lost)
	}
}

// beat sends a heartbeat of the given mode.
func (o *Member) beat(ctx context.Context, mode Mode) (Nodes, error) {
	self := o.self
	if o.config.APIs != nil {
		more := o.config.APIs()
		self.More = strings.Join(more[:min(len(more), maxAPIs)], ",")
	}
	self.Lag, self.Applied = o.config.Lag(), o.config.Applied()
	return o.registry.Beat(ctx, mode, &self, o.config.Silence())
}

// maxAPIs bounds the addresses in a heartbeat, because every node reads the
// heartbeats of all nodes each second.
const maxAPIs = 16
