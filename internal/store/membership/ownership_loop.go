package membership

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
)

// Join makes this process one of the nodes until Release, and does nothing after
// it. Each function of alongside runs in its own goroutine, and must return when
// its context ends.
func (m *Member) Join(alongside ...func(context.Context)) {
	if !m.starts() {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	m.listeners.Go(func() { m.registry.Listen(ctx, m.WakeLoop) })
	if m.config.Sums != nil {
		m.listeners.Go(func() { m.publishSums(ctx) })
	}
	for _, work := range alongside {
		m.listeners.Go(func() { work(ctx) })
	}
	next := m.step(ctx, false)
	go func() {
		defer close(m.Ended)
		defer m.listeners.Wait()
		defer stop()
		m.loop(ctx, next)
	}()
}

// WakeLoop makes the loop send a heartbeat and read the nodes at once.
func (m *Member) WakeLoop() {
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// loop runs a step whenever one is due, until Release.
func (m *Member) loop(ctx context.Context, next time.Time) {
	for {
		eager := false
		select {
		case <-m.leaving:
			m.leave(ctx)
			m.count()
			return
		case <-m.news:
			eager = true
		case <-time.After(time.Until(next)):
		}
		next = m.step(ctx, eager)
		m.count()
	}
}

// These bound the waits of Release for servers that do not answer: for a step of the
// loop, and then for the release of shards.
const (
	stepEnds    = 300 * time.Millisecond
	releaseEnds = 700 * time.Millisecond
)

// Release gives all shards to the other nodes at once and for good. This process
// claims nothing from then on, but can settle and extend its claims. Release, with
// which Close begins, returns when other nodes can acquire the shards. If the
// servers are away, Release ends soon, and the leases of the shards end by
// themselves.
func (m *Member) Release() {
	m.once.Do(func() {
		m.begin.Lock()
		if m.released = true; !m.begun {
			close(m.Ended)
		}
		m.begin.Unlock()
		close(m.leaving)
		time.AfterFunc(stepEnds, m.cancelStep)
	})
	select {
	case <-m.Ended:
	case <-time.After(stepEnds + releaseEnds):
	}
}

func (m *Member) leave(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, releaseEnds)
	defer stop()
	var held []int
	for i, c := range m.states {
		if c.held || c.listed {
			held = append(held, i)
		}
	}
	// Send the heartbeat first, so that nodes that receive the release no
	// longer count this node as live.
	_, err := m.beat(ctx, Leave)
	m.config.Note("announce that this node leaves", err)
	if m.release(ctx, held) {
		m.config.Logger.Info("this node released all its shards", "shards", len(held))
	}
	m.registry.Announce(ctx)
}

// step sends heartbeats and acquires, renews and releases shards as far as that is
// due, and returns the time of the next step.
func (m *Member) step(ctx context.Context, eager bool) time.Time {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(m.stepContext, stop)()
	now := time.Now()
	if m.config.Closed() {
		for i := range m.states { // without a call, because the registry is another store's
			m.disown(i, claimState{})
			m.listed(i, true)
		}
		m.nextBeat = time.Time{}
		return now.Add(m.config.Heartbeat)
	}
	m.disownExpired(now)
	if eager || !now.Before(m.nextBeat) {
		m.nextBeat = now.Add(m.config.UntilNext(m.config.Heartbeat))
		m.within(ctx, m.heartbeat)
		now = time.Now()
	}
	pace := pace{renew: m.config.Lease / 3, retry: m.config.Heartbeat}
	if !m.config.BeatRenews && !now.Before(m.nextAdopt) {
		m.nextAdopt = now.Add(m.config.Lease)
		m.within(ctx, m.adopt)
		now = time.Now()
	}
	m.disownExpired(now)
	p := planFor(now, m.wants(now), m.states, pace, eager)
	if len(p.release) > 0 {
		m.within(ctx, func(ctx context.Context) {
			m.release(ctx, p.release)
			m.registry.Announce(ctx)
		})
	}
	m.hold(ctx, slices.Concat(p.renew, p.acquire))
	ready := m.prepare(ctx) // even if some calls failed: their server may be away for long
	now = time.Now()
	m.disownExpired(now)
	next := m.nextBeat
	if p = planFor(now, m.wants(now), m.states, pace, false); !p.next.IsZero() && p.next.Before(next) {
		next = p.next
	}
	if len(p.acquire)+len(p.renew)+len(p.release) > 0 || !ready || next.Before(now) { // a call failed
		next = now.Add(m.config.Heartbeat / 10)
	}
	m.logOwnership()
	return next
}

// within runs one part of a step with its own time limit. If one server of the registry
// hangs, the leases of shards on other servers must still be renewed.
func (m *Member) within(ctx context.Context, do func(context.Context)) {
	ctx, stop := context.WithTimeout(ctx, m.config.Lease/6)
	defer stop()
	do(ctx)
}

// heartbeat sends a heartbeat, and reads which nodes share the shards, but if that
// fails, the nodes known so far stay valid.
func (m *Member) heartbeat(ctx context.Context) {
	silence, sent := m.config.Silence(), time.Now()
	h, err := m.beat(ctx, m.heartbeatMode(sent, silence))
	m.config.Note("send a heartbeat", err)
	if err != nil {
		m.away, m.silent = time.Now(), time.Time{}
		if m.mine == nil {
			m.mine = make([]bool, len(m.owned))
		}
		return
	}
	peers, now, found := h.Peers, h.Now, h.Found
	first := !m.met
	m.met = true
	if m.config.BeatRenews {
		m.renewed(found, sent)
	}
	if duplicate := m.checkDuplicate(time.Now(), peers, now, found, silence); duplicate != nil || !m.uncertain(silence) {
		m.config.Note("use the node name", duplicate)
	}
	if found == Moved || first {
		m.registry.Announce(ctx)
	}
	var apis []string
	var lag time.Duration
	for _, p := range peers {
		apis = append(apis, p.APIs()...)
		if p.Nonce != m.self.Nonce {
			lag = max(lag, p.Lag)
		}
	}
	m.now = now
	m.apis.Store(&apis)
	m.lag.Store(int64(lag))
	peers = livePeers(peers, now, silence)
	m.peers = peers
	m.nodes.Store(int64(len(peers)))
	m.config.Note("share the store", m.checkRoles(peers))
	takers := takers(peers)
	if found == Other {
		takers = nil
	}
	if m.mine == nil || !slices.Equal(takers, m.takers) {
		m.takers = takers
		m.mine, m.ranks = shares(takers, m.self.Name, len(m.owned))
		clear(m.orphans)
		clear(m.adopted)
	}
}

// An adopted shard is kept for adoptedFor times Config.Lease, after which the node
// that should own it can acquire it again.
const adoptedFor = 100

// adopt takes shards that had no owner for the length of a lease, although another
// node should own them, which happens if that one is live but cannot reach their
// server. In each lease every node looks at another part of the shards, about as
// many as it owns, and again at those without an owner. The registry's clock says
// which part, so together the nodes look at all shards.
func (m *Member) adopt(ctx context.Context) {
	if !slices.Contains(m.takers, m.self.Name) {
		return
	}
	var others []int
	turns := max(len(m.takers)-1, 1)
	turn := int(m.now.Sub(0)/m.config.Lease) % turns
	for i, mine := range m.mine {
		if _, adopted := m.adopted[i]; !mine && !adopted && (m.orphans[i] || (m.ranks[i]+turn)%turns == 0) {
			others = append(others, i)
		}
	}
	before := m.orphans
	m.orphans = map[int]bool{}
	for n, g := range m.lease(ctx, lookAt, others) {
		switch i := others[n]; {
		case g.Err != nil:
			if before[i] {
				m.orphans[i] = true
			}
		case g.Owner != "" && g.Left > 0:
		case before[i]:
			m.adopted[i] = time.Now().Add(adoptedFor * m.config.Lease)
		default:
			m.orphans[i] = true
		}
	}
}

// wants returns for each shard whether this process should own it now.
func (m *Member) wants(now time.Time) []bool {
	if len(m.adopted) == 0 {
		return m.mine
	}
	all := slices.Clone(m.mine)
	for i, until := range m.adopted {
		if c := m.states[i]; !now.Before(until) || !c.held && now.Before(c.until) { // it has an owner
			delete(m.adopted, i)
			continue
		}
		all[i] = true
	}
	return all
}

// logOwnership logs the number of owned shards if it has changed and this node owns
// those that it should own. Calls that fail until then are logged by themselves.
func (m *Member) logOwnership() {
	held := 0
	for i, state := range m.states {
		if state.held != m.mine[i] {
			return
		}
		if state.held {
			held++
		}
	}
	if held != m.logged {
		m.config.Logger.Info("shard ownership changed", "shards", held, "before", m.logged, "of", len(m.states), "nodes", len(m.peers))
		m.logged = held
	}
}

// disownExpired removes the shards whose leases have ended from this process.
func (m *Member) disownExpired(now time.Time) {
	lost, held, at := 0, 0, m.instant(now)
	for i := range m.states {
		switch c := m.states[i]; {
		case c.held && !m.owned[i].Load().holds(at):
			m.disown(i, claimState{})
			lost++
		case c.held:
			held++
		}
	}
	if lost > 0 {
		m.lost.Add(uint64(lost))
		m.logged = held
		m.config.Logger.Warn("this node lost shards: their leases ended before it renewed them", "shards", lost)
	}
}

// beat sends a heartbeat, and returns the peers ordered by name, a duplicate after its
// original.
func (m *Member) beat(ctx context.Context, mode Mode) (Nodes, error) {
	self := m.self
	if m.config.APIs != nil {
		more := m.config.APIs()
		self.More = strings.Join(more[:min(len(more), maxAPIs)], ",")
	}
	self.Lag, self.Applied = m.config.Lag(), m.config.Applied()
	n, err := m.registry.Beat(ctx, mode, &self, m.config.Silence())
	slices.SortFunc(n.Peers, func(a, b Peer) int {
		switch order := cmp.Compare(a.Name, b.Name); {
		case order != 0 || a.Duplicate == b.Duplicate:
			return order
		case b.Duplicate:
			return -1
		}
		return 1
	})
	return n, err
}

// maxAPIs bounds the addresses in a heartbeat, because every node reads the
// heartbeats of all nodes each second.
const maxAPIs = 16
