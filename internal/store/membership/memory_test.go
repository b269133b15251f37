package membership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// memory is a registry for tests. Its clock can be set.
type memory struct {
	closed atomic.Bool // nodes own nothing, and do not divide the shards again
	renews bool        // Config.BeatRenews

	mu     sync.Mutex // guards everything below
	ahead  time.Duration
	peers  map[string]Peer // by name; a duplicate has the name with a slash
	leases []held
	epochs uint64
	calls  map[string]int // by kind
	news   map[int]func()
	sums   map[string][]byte // published
	lapsed map[string]bool   // processes that lost a shard since their last heartbeat, if renews
	moved  map[string]bool   // processes whose next heartbeat finds a crash of the registry, if renews
	copied []held            // see rollback
	next   int
}

type held struct {
	id    string
	until time.Time
}

func newMemory(shards int) *memory {
	return &memory{peers: map[string]Peer{}, leases: make([]held, shards), calls: map[string]int{}, news: map[int]func(){}, sums: map[string][]byte{}, lapsed: map[string]bool{}, moved: map[string]bool{}}
}

func (m *memory) nowLocked() time.Time { return time.Now().Add(m.ahead) }

// link is the connection of a node to the registry. While it is cut, calls fail;
// while it is frozen, they wait, as those of a process that stands still.
type link struct {
	*memory
	mu     sync.Mutex // guards everything below
	cut    bool
	barred bool          // requests about leases fail, and heartbeats do not
	slow   time.Duration // replies about leases come this much later
	frozen chan struct{} // closed when it thaws; nil means that it is not frozen
}

var errCut = errors.New("the network is cut")

func (l *link) pass(ctx context.Context) error {
	l.mu.Lock()
	cut, frozen := l.cut, l.frozen
	l.mu.Unlock()
	if frozen != nil {
		select {
		case <-frozen:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if cut {
		return errCut
	}
	return ctx.Err()
}

func (l *link) setCut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
}

func (l *link) setBarred(barred bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.barred = barred
}

func (l *link) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = make(chan struct{})
}

func (l *link) thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.frozen)
	l.frozen = nil
}

func (l *link) Beat(ctx context.Context, mode Mode, self *Peer, silence time.Duration) (Nodes, error) {
	if err := l.pass(ctx); err != nil {
		return Nodes{}, err
	}
	m := l.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls["beat"]++
	now, n := task.FloorMillis(m.nowLocked()), Nodes{}
	me := *self
	me.Beat = now
	old, there := m.peers[me.Name]
	switch {
	case mode == ReadOnly || mode == ReadAll:
	case mode == Leave:
		if old.Nonce == me.Nonce {
			delete(m.peers, me.Name)
			n.Found = Moved
		}
	case there && old.Nonce != me.Nonce && (mode != Alive || now.Sub(old.Beat) <= silence):
		me.Duplicate = true
		m.peers[me.Name+"/"+me.Nonce] = me
		n.Found = Other
	default:
		delete(m.peers, me.Name+"/"+me.Nonce)
		if m.peers[me.Name] = me; old.Nonce != me.Nonce {
			n.Found = Moved
		} else if m.renews {
			if m.lapsed[me.Process()] || m.moved[me.Process()] {
				n.Found = Moved
			}
			delete(m.lapsed, me.Process()) // and those that no other process has taken are leased again
			m.renewLocked(me.Process(), lease)
		}
		delete(m.moved, me.Process())
		delete(m.lapsed, me.Process())
	}
	n.Now = now
	for key, p := range m.peers {
		if now.Sub(p.Beat) > 10*silence {
			delete(m.peers, key)
			continue
		}
		p.Beat = min(p.Beat, now)
		n.Peers = append(n.Peers, p)
	}
	return n, nil
}

// renewLocked renews the leases of a process, unless it has lost some.
func (m *memory) renewLocked(process string, length time.Duration) {
	for i, h := range m.leases {
		if strings.HasPrefix(h.id, process+"/") && !m.lapsed[process] {
			m.leases[i].until = m.nowLocked().Add(length)
		}
	}
}

func (l *link) Lease(ctx context.Context, verb Verb, process string, length time.Duration, shards []int) []LeaseReply {
	out := make([]LeaseReply, len(shards))
	l.mu.Lock()
	barred, slow := l.barred, l.slow
	l.mu.Unlock()
	err := l.pass(ctx)
	if barred {
		err = errCut
	}
	if err != nil {
		for i := range out {
			out[i].Err = err
		}
		return out
	}
	defer time.Sleep(slow) // after the registry has acted
	m := l.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[string(verb)]++
	m.calls["shards"] += len(shards)
	now := m.nowLocked()
	if m.renews && verb == hold {
		m.renewLocked(process, length)
		for _, h := range m.leases {
			if i := strings.LastIndexByte(h.id, '/'); i > 0 && !h.until.After(now) {
				m.lapsed[h.id[:i]] = true
			}
		}
	}
	for i, shard := range shards {
		h := m.leases[shard]
		ours := strings.HasPrefix(h.id, process+"/")
		switch {
		case verb == hold && m.lapsed[process]:
			continue
		case verb == giveBack && ours:
			h = held{}
		case verb == hold && ours:
			h.until = now.Add(length)
		case verb == hold && (h.id == "" || !h.until.After(now)):
			m.epochs++
			h = held{fmt.Sprint(process, "/", m.epochs), now.Add(length)}
		}
		if m.leases[shard] = h; m.renews && !h.until.After(now) {
			h.id = "" // no process has a lease
		}
		out[i] = LeaseReply{Owner: h.id, Left: max(h.until.Sub(now), 0)}
	}
	return out
}

func (l *link) Owners(ctx context.Context) ([]Lease, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	m := l.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Lease, len(m.leases))
	for i, h := range m.leases {
		all[i] = Lease{ID: h.id, Until: task.FloorMillis(h.until)}
	}
	return all, nil
}

func (l *link) Publish(ctx context.Context, node string, sums []byte) error {
	if err := l.pass(ctx); err != nil {
		return err
	}
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	l.memory.calls["publish"]++
	if delete(l.sums, node); sums != nil {
		l.sums[node] = sums
	}
	return nil
}

func (l *link) Published(ctx context.Context) (map[string][]byte, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	l.memory.calls["published"]++
	return maps.Clone(l.sums), nil
}

// count counts one record for the shard 0, two for the shard 1, and so on.
func (l *link) count(ctx context.Context, shards []int) (map[string]task.Counts, error) {
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	l.memory.mu.Lock()
	defer l.memory.mu.Unlock()
	l.memory.calls["shards"] += len(shards)
	var c task.Counts
	for _, i := range shards {
		c.Bytes += int64(i + 1)
	}
	return map[string]task.Counts{"limited": c}, nil
}

func (l *link) Announce(ctx context.Context) {
	if l.pass(ctx) != nil {
		return
	}
	l.memory.mu.Lock()
	var news []func()
	for _, n := range l.memory.news {
		news = append(news, n)
	}
	l.memory.mu.Unlock()
	for _, n := range news {
		n()
	}
}

func (l *link) Listen(ctx context.Context, news func()) {
	l.memory.mu.Lock()
	n := l.memory.next
	l.memory.next++
	l.memory.news[n] = news
	l.memory.mu.Unlock()
	news()
	<-ctx.Done()
	l.memory.mu.Lock()
	delete(l.memory.news, n)
	l.memory.mu.Unlock()
}

// counted returns the number of leases that calls were about, and of all calls.
func (m *memory) counted() (leases, calls int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for kind, n := range m.calls {
		if kind == "shards" {
			leases = n
		} else {
			calls += n
		}
	}
	return leases, calls
}

// crash loses nothing, but the heartbeats of all nodes find it.
func (m *memory) crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.peers {
		m.moved[p.Process()] = true
	}
}

// rollback undoes the changes of owners since a copy was made, as a failover can, and the
// heartbeats of all nodes find it.
func (m *memory) rollback() {
	m.mu.Lock()
	copied := m.copied
	m.mu.Unlock()
	if m.crash(); copied != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		copy(m.leases, copied)
		for i := range m.leases {
			m.leases[i].until = m.nowLocked().Add(lease)
		}
	}
}

// copies makes a copy for rollback.
func (m *memory) copies() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.copied = slices.Clone(m.leases)
}

// step sets the registry's clock.
func (m *memory) step(by time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ahead += by
}

// node is a node of a test.
type node struct {
	*Member
	link *link
}

const (
	lease     = 6 * time.Second
	heartbeat = time.Second
)

// start starts a node, in the bubble of the test.
func start(m *memory, name string) *node {
	n := &node{link: &link{memory: m}}
	n.Member = New(n.config(name), n.link)
	n.Join()
	return n
}

// config returns the configuration of a node that starts now.
func (n *node) config(name string) Config {
	m, began := n.link.memory, time.Now()
	return Config{
		Node: name, Logger: silent, Shards: len(m.leases), Lease: lease, Heartbeat: heartbeat, BeatRenews: m.renews,
		Now: func() task.Millis {
			m.mu.Lock()
			defer m.mu.Unlock()
			return task.FloorMillis(m.nowLocked())
		},
		Count: n.link.count, Sums: n.link,
		Lag: func() time.Duration { return 0 }, Applied: func() string { return "" }, Closed: m.closed.Load,
		Prepare: func(_ context.Context, owned []*Owned) error {
			const most = 20
			for _, h := range owned[:min(len(owned), most)] {
				h.Ready.Store(true)
			}
			if len(owned) > most {
				return context.DeadlineExceeded
			}
			return nil
		},
		Note:      func(string, error, ...any) {},
		UntilNext: func(d time.Duration) time.Duration { return d - time.Since(began)%d },
	}
}

// owners returns how many of the nodes act as the owner of each shard, when all that
// happens at this instant has happened: a shard can have two owners in turn.
func owners(nodes []*node, shards int) []int {
	synctest.Wait()
	n := make([]int, shards)
	for _, x := range nodes {
		for _, h := range x.Owned() {
			n[h.Shard]++
		}
	}
	return n
}

// extremes returns the lowest and the highest number of owners.
func extremes(n []int) (least, most int) {
	least = math.MaxInt
	for _, x := range n {
		least, most = min(least, x), max(most, x)
	}
	return least, most
}

// releaseAll ends all nodes.
func releaseAll(nodes []*node) {
	for _, n := range nodes {
		n.Release()
		<-n.Ended
	}
	synctest.Wait()
}
