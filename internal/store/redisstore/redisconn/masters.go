package redisconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
)

const (
	// crowdedAt is the fraction of a master's memory above which it refuses new
	// tasks. The rest is for tasks that exist, which must still be claimed, settled
	// and cancelled.
	crowdedAt = 0.85

	// CheckEvery is the time between two checks of the masters.
	CheckEvery = time.Second

	// checkRest is the shortest time between two checks, even if many callers
	// ask for one.
	checkRest = 20 * time.Millisecond

	// awayAfter is how many seconds a replica can be silent before writes stop
	// waiting for it.
	awayAfter = 3
)

// The errors of CheckMasters if Config.Client names one server and that server does
// not stand alone.
var (
	ErrCluster  = errors.New("the server belongs to a Cluster")
	ErrSentinel = errors.New("the server is a sentinel")
)

// errNoNode means that the cluster has named a server that the client does not
// know yet.
var errNoNode = errors.New("the server is not known yet")

// Masters is a snapshot of the servers that take writes. It is replaced, never
// changed.
type Masters struct {
	spans []span // of slots; one span if there is no Cluster
	how   map[string]condition
}

// span is a range of slots of one master.
type span struct {
	first, last uint16
	addr        string
	replicas    []string // host:port, as the Cluster reports them
}

// Of returns the address of the slot's master, "" if there is none.
func (m *Masters) Of(slot uint16) string {
	for _, s := range m.spans {
		if s.first <= slot && slot <= s.last {
			return s.addr
		}
	}
	return ""
}

// Free returns how many bytes of new tasks the masters accept. scarce is true
// if that is less than the bytes they hold. If it is false, no namespace can
// hold more than is free.
func (s *Servers) Free() (bytes int64, scarce bool) {
	var used int64
	for _, c := range s.Masters.Load().how {
		if c.limit == 0 {
			return 0, false
		}
		used += c.used
		bytes += max(0, int64(crowdedAt*float64(c.limit))-c.used)
	}
	return bytes, used > bytes
}

// CheckMasters finds the masters and checks their state, and its error is that of a
// master that did not answer.
func (s *Servers) CheckMasters(ctx context.Context) error {
	writable, refused, err := s.readMasters(ctx)
	if why := cmp.Or(err, refused); why != nil && writable == 0 {
		s.Absent.Store(&why)
	} else {
		s.Absent.Store(nil)
	}
	return err
}

// readMasters does the work of CheckMasters, and returns how many masters accept
// writes, and why another one refuses them.
func (s *Servers) readMasters(ctx context.Context) (writable int, refused, err error) {
	spans, err := s.spans(ctx)
	if err != nil {
		return 0, nil, err
	}
	m, last, nodes := &Masters{spans: spans, how: map[string]condition{}}, s.Masters.Load(), s.Client.Nodes()
	for _, sp := range spans {
		m.how[sp.addr] = condition{}
		if last != nil {
			m.how[sp.addr] = last.how[sp.addr] // it stays if the master does not answer
		}
	}
	addrs := slices.Collect(maps.Keys(m.how))
	found, failures := make([]condition, len(addrs)), make([]error, len(addrs))
	var all sync.WaitGroup
	for i, addr := range addrs {
		key := s.keyIn(m.spanOf(addr))
		if node, ok := nodes[addr]; ok {
			all.Go(func() { found[i], failures[i] = s.conditionAt(ctx, addr, key, node) }) // in parallel, so that a server that hangs does not delay the other servers
			continue
		}
		failures[i] = errNoNode
		all.Go(func() { s.Client.Do(ctx, s.Client.B().Exists().Key(key).Build()) }) // the client learns the address when it is redirected there
	}
	all.Wait()
	now := s.Clocks.Monotonic()
	for i, addr := range addrs {
		how, before, failed := found[i], m.how[addr], failures[i]
		switch {
		case errors.Is(failed, errNoNode):
			before.failed = failed
			m.how[addr] = before
			continue
		case how.succeeded && (before.doubted == 0 || now-before.doubted < trustAfter):
			failed = errReplaced
		}
		if failed != nil {
			before.silent, before.failed = true, failed
			if !how.succeeded {
				before.doubted = 0
			} else if before.doubted == 0 {
				before.doubted = now
			}
			m.how[addr], err = before, cmp.Or(err, failed)
			continue
		}
		if how.refused == nil {
			writable++
		}
		refused = cmp.Or(refused, how.refused)
		if last != nil && how.run != before.run {
			s.Replaced.Add(1)
		}
		m.how[addr] = how.after(before)
		if how.replicas > 0 {
			s.replicated.Store(true)
		}
	}
	s.judge(m)
	s.Masters.Store(m)
	s.Clocks.Prune(func(addr string) bool { _, is := m.how[addr]; return is })
	return writable, refused, err
}

// conditionAt reads the state of the master at addr. key is in one of its slots.
func (s *Servers) conditionAt(ctx context.Context, addr, key string, node rueidis.Client) (condition, error) {
	began, sent := time.Now(), s.Clocks.Monotonic()
	once, stop := context.WithTimeout(ctx, CheckEvery)
	defer stop()
	info, config, refused, err := report(once, addr, key, node)
	if err != nil {
		return condition{}, err
	}
	switch mode := info["redis_mode"]; {
	case s.Cluster:
	case mode == "cluster":
		return condition{}, ErrCluster
	case mode == "sentinel":
		return condition{}, ErrSentinel
	}
	if micros, err := strconv.ParseInt(info["server_time_usec"], 10, 64); err == nil {
		s.Clocks.Observe(addr, micros, sent, s.Clocks.Monotonic())
	}
	how := conditionOf(addr, info, config)
	how.info, how.asked, how.refused = info, sent, refused
	how.succeeded = s.doubts(addr, time.Since(began)) && s.succeeded(ctx, addr)
	return how, nil
}

func (m *Masters) spanOf(addr string) span {
	return m.spans[slices.IndexFunc(m.spans, func(sp span) bool { return sp.addr == addr })]
}

// keyIn returns a key that lies in one of the slots of sp.
func (s *Servers) keyIn(sp span) string {
	for i := int64(0); ; i++ {
		tag := strconv.FormatInt(i, 36)
		if slot := keyspace.SlotOf(tag); sp.first <= slot && slot <= sp.last {
			return s.Keys.Shard(0, tag, slot).Prefix + "seal"
		}
	}
}

func (s *Servers) spans(ctx context.Context) ([]span, error) {
	if !s.Cluster {
		for addr := range s.Client.Nodes() {
			return []span{{last: keyspace.Slots - 1, addr: addr}}, nil
		}
		return nil, errNoNode
	}
	parts, err := s.slotsOf(ctx, s.Client)
	for _, node := range s.Client.Nodes() { // the first call went to any one of them, which can hang
		if err == nil || ctx.Err() != nil {
			break
		}
		parts, err = s.slotsOf(ctx, node)
	}
	all := make([]span, len(parts))
	for i := 0; i < len(parts) && err == nil; i++ {
		all[i], err = parseSpan(parts[i])
	}
	if err != nil {
		return nil, fmt.Errorf("read the slots of the Cluster: %w", err)
	}
	return all, nil
}

func (s *Servers) slotsOf(ctx context.Context, c rueidis.Client) ([]rueidis.RedisMessage, error) {
	ctx, stop := context.WithTimeout(ctx, CheckEvery/3)
	defer stop()
	return c.Do(ctx, c.B().ClusterSlots().Build()).ToArray()
}

func parseSpan(m rueidis.RedisMessage) (span, error) {
	part, err := m.ToArray()
	if err != nil || len(part) < 3 {
		return span{}, errors.Join(codec.ErrDamaged, err)
	}
	first, err1 := part[0].AsInt64()
	last, err2 := part[1].AsInt64()
	master, err3 := slotServer(part[2])
	if err := errors.Join(err1, err2, err3); err != nil {
		return span{}, errors.Join(codec.ErrDamaged, err)
	}
	sp := span{first: uint16(first), last: uint16(last), addr: master} //nolint:gosec // slots
	for _, replica := range part[3:] {
		if at, err := slotServer(replica); err == nil {
			sp.replicas = append(sp.replicas, at)
		}
	}
	return sp, nil
}

func slotServer(m rueidis.RedisMessage) (string, error) {
	server, err := m.ToArray()
	if err != nil || len(server) < 2 {
		return "", errors.Join(codec.ErrDamaged, err)
	}
	host, err1 := server[0].ToString()
	port, err2 := server[1].AsInt64()
	return net.JoinHostPort(host, strconv.FormatInt(port, 10)), errors.Join(err1, err2)
}

// Wants returns how many replicas of the master at addr must confirm a write.
func (s *Servers) Wants(addr string) int {
	return s.level.wants(s.Masters.Load().how[addr].replicas, s.replicated.Load())
}

func (s *Servers) watch() {
	var logged int64
	for {
		select {
		case <-time.After(s.UntilNext(CheckEvery)):
		case <-s.recheck:
		case <-s.closing:
			return
		}
		ctx, stop := context.WithTimeout(s.Lifetime, RetryTime)
		err := s.CheckMasters(ctx)
		if why := s.Absent.Load(); why != nil {
			err = *why // it may be a refusal
		}
		if s.Lifetime.Err() == nil {
			s.Failures.Note(reaching, err)
		}
		s.logFitness()
		stop()
		if n := s.ShortBatches.Load(); n != logged {
			s.logger.Warn("replicas did not confirm writes in time", "batches", n-logged, "durability", string(s.level))
			logged = n
		}
		s.Pause(s.Lifetime, checkRest) // callers in doubt ask again and again
	}
}

// settleTime is how long Synced waits for the replicas of one master.
const settleTime = time.Second

// Synced reports whether every replica that follows has received all writes
// that its master has sent so far.
func (s *Servers) Synced(ctx context.Context) bool {
	m := s.Masters.Load()
	for addr, how := range m.how {
		node, ok := s.Client.Nodes()[addr]
		if how.replicas == 0 {
			continue
		}
		if !ok {
			return false
		}
		conn, release := node.Dedicate()
		results := conn.DoMulti(ctx, conn.B().Set().Key(s.keyIn(m.spanOf(addr))).Value("").Build(), conn.B().Wait().Numreplicas(int64(how.replicas)).Timeout(settleTime.Milliseconds()).Build())
		n, err := results[1].AsInt64()
		release()
		if err = errors.Join(results[0].Error(), err); err != nil || int(n) < how.replicas {
			return false
		}
	}
	return true
}

// MasterOf returns the address of the master that has a key without a tag, ""
// if there is none.
func (s *Servers) MasterOf(key string) string {
	slot := uint16(0)
	if s.Cluster {
		slot = keyspace.SlotOf(key)
	}
	return s.Masters.Load().Of(slot)
}
