package redisconn

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
)

// Writes go to Redis in batches. Writes that callers enqueue while two batches are
// under way are sent in the next one, in the order of their turns. Items for one slot
// share one run of put. If replicas must confirm, a batch has its own connection and
// ends with a WAIT there, because WAIT covers only the writes of its connection.
//
// The claims of the node have batches of their own, but Redis has one thread. So
// maxBatches × maxBatchItems bounds how much later an import makes them: 20 ms, as an
// item costs Redis 40 us.
const (
	maxBatches    = 2   // batches of one pipeline at the same time; more batches would be smaller, so fewer items would share a run
	maxBatchItems = 256 // items of a batch; the last write can exceed it
)

// batchTime bounds a batch, without the time that it waits for replicas.
const batchTime = 5 * time.Second

// write holds the work of one caller for one slot: items for put, or the run of
// another script.
type write struct {
	script *Script
	sender string          // see Terms
	shard  *keyspace.Shard // nil means that the write is for settings
	slot   uint16          // zero outside a cluster
	loose  bool            // no replica needs to confirm it
	clock  Clock
	store  string // the identity of the store, for items
	fence  string // the token of the newest fence that the caller's settings have passed, for items
	items  []*Item
	run    Run

	tries int    // the number of batches in which it was sent
	asked string // the server that an ASK reply named for the next try
	done  chan result
}

// result is the outcome of one write.
type result struct {
	values      []rueidis.RedisMessage // the reply, or this write's share of it: for put the clock, then the outcomes of the items
	unconfirmed bool                   // the level is Default and no replica confirmed it: only the master is sure to have it
	err         error
}

// Error returns the reason why the write failed, nil if it succeeded.
func (r result) Error() error { return r.err }

// seal returns the run that seals a batch in the write's slot.
func (w *write) seal(k *keyspace.Keys) Run {
	if w.shard == nil {
		return Run{[]string{k.SettingsSeal, k.SettingsID}, []string{w.store}}
	}
	return Run{[]string{w.shard.Prefix + "seal", w.shard.Own}, []string{w.store}}
}

func (s *Servers) newWrite(sc *Script, sh *keyspace.Shard) *write {
	return &write{script: sc, shard: sh, slot: s.Slot(sh), store: s.Identity, done: make(chan result, 1)}
}

// send sends writes until their servers took them, for at most RetryTime. The
// only error left in a result is out of memory.
func (s *Servers) send(ctx context.Context, writes []*write) ([]result, error) {
	return retry(ctx, s, batchTime+s.ReplicaTimeout, writes, func(ctx context.Context, writes []*write) []result {
		for _, r := range writes {
			r.tries++
		}
		for l, own := range s.sorted(writes) {
			l.enqueue(own)
		}
		results, moved := make([]result, len(writes)), false
		for i, r := range writes {
			select {
			case results[i] = <-r.done:
				moved = moved || results[i].err != nil && s.passing(results[i].err)
			case <-ctx.Done():
				results[i].err = ctx.Err()
			}
		}
		if moved {
			select {
			case s.recheck <- struct{}{}: // one check serves all callers that wait
			default:
			}
		}
		return results
	})
}

func (s *Servers) sorted(writes []*write) map[*pipeline][]*write {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, out := s.Masters.Load(), map[*pipeline][]*write{}
	for _, r := range writes {
		master := m.Of(r.slot)
		addr, name := cmp.Or(r.asked, master), cmp.Or(r.asked, master)
		if r.loose || s.level == Async || s.Wants(addr) == 0 { // the shared client has one pipeline for each master, because a master that hangs delays its batches
			addr, name = "", "shared "+master
			if r.sender == "" { // a claim waits for no batch of creates
				name = "of the node " + master
			}
		}
		l := s.pipelines[name]
		if l == nil {
			l = &pipeline{servers: s, master: cmp.Or(addr, master), addr: addr}
			s.pipelines[name] = l
		}
		out[l] = append(out[l], r)
	}
	return out
}

// pipeline holds the batches for one server whose replicas confirm, or the
// batches for the shared client that need no confirmation. Each batch runs in a
// goroutine, which ends when no write is waiting. Servers.Close waits for these
// goroutines.
type pipeline struct {
	servers *Servers
	master  string // the server that takes the writes
	addr    string // the same if its replicas confirm; empty means the shared client

	mu      sync.Mutex // guards everything below
	waiting turns
	sending int
	idle    []rueidis.DedicatedClient
}

func (p *pipeline) enqueue(writes []*write) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting.add(writes)
	if p.sending < maxBatches {
		p.sending++
		p.servers.work.Go(func() {
			for next := p.next(); next != nil; next = p.next() {
				p.sendBatch(pack(next))
			}
		})
	}
}

// next takes the writes of the next batch. It returns nil if none is waiting.
func (p *pipeline) next() []*write {
	p.mu.Lock()
	defer p.mu.Unlock()
	writes := p.waiting.take(maxBatchItems)
	if len(writes) == 0 {
		p.sending--
	}
	return writes
}

// scriptRun is one run of a script for several writes.
type scriptRun struct {
	script  *Script
	writes  []*write
	items   int
	records map[string]struct{} // the records that the run changes, each once
	base    Base                // Counters.Base of its holder when it was sent
}

// takes reports whether the items of w can be added to the run.
func (r *scriptRun) takes(w *write) bool {
	if r == nil || len(w.items) == 0 || r.items+len(w.items) > maxItems {
		return false
	}
	return !slices.ContainsFunc(w.items, func(it *Item) bool { _, has := r.records[it.Field]; return has })
}

// pack groups the writes: those that can share a run of put go into one
// scriptRun.
func pack(writes []*write) []*scriptRun {
	type place struct {
		script       *Script
		slot         uint16
		asked, fence string
	}
	var all []*scriptRun
	open := map[place]*scriptRun{}
	for _, r := range writes {
		at := place{r.script, r.slot, r.asked, r.fence}
		p := open[at]
		if !p.takes(r) {
			p = &scriptRun{script: r.script, records: make(map[string]struct{}, len(r.items))}
			all = append(all, p)
			if len(r.items) > 0 {
				open[at] = p
			}
		}
		p.writes, p.items = append(p.writes, r), p.items+len(r.items)
		for _, it := range r.items {
			p.records[it.Field] = struct{}{}
		}
	}
	return all
}

// counts reports whether the changes of p are counted.
func (r *scriptRun) counts() bool {
	return r.items > 0 && slices.ContainsFunc(r.writes, func(w *write) bool { return !w.loose })
}

// holder returns the key of the hash that has the identity of the store, and
// the counts of changes.
func (r *scriptRun) holder() string { return r.writes[0].shard.Own }

// run returns the keys and arguments of p. counter is the field that counts its
// changes.
func (r *scriptRun) run(counter string) Run {
	first := r.writes[0]
	if r.items == 0 {
		return first.run
	}
	if !r.counts() {
		counter = ""
	}
	latest := first.clock // all writes come from this node, so the newest clock is the best
	for _, w := range r.writes {
		if w.clock.Now > latest.Now {
			latest = w.clock
		}
	}
	c := newCall(latest, first.store, r.holder(), first.fence, counter)
	for _, w := range r.writes {
		for _, it := range w.items {
			c.add(it)
		}
	}
	return Run{c.keys, c.args}
}

// finish passes each write of p its share of the reply, and counts the changes of
// this process. A change counts if it is as durable as the level requires.
func (r *scriptRun) finish(t *Counters, reply rueidis.RedisResult, unconfirmed bool, failed error) {
	m, err := reply.ToMessage()
	values := []rueidis.RedisMessage{m}
	if err == nil && m.IsArray() {
		values, err = m.ToArray()
	}
	err = cmp.Or(err, failed)
	switch {
	case err != nil || r.items == 0:
	case len(values) != 2+r.items:
		err = codec.ErrDamaged
	case r.counts():
		found, _ := values[1].AsInt64()
		applied := int64(0)
		for _, v := range values[2:] {
			if n, err := v.AsInt64(); err == nil && v.IsInt64() && Status(n) == Applied {
				applied++
			}
		}
		t.See(r.holder(), r.base, found, applied)
	}
	asked := ""
	if refusal, ok := rueidis.IsRedisErr(err); ok {
		asked, _ = refusal.IsAsk()
	}
	at := 2
	for _, one := range r.writes {
		one.asked = asked
		own := values
		if err == nil && r.items > 0 {
			own = append(values[:1:1], values[at:at+len(one.items)]...)
			at += len(one.items)
		}
		one.done <- result{own, unconfirmed, err}
	}
}

func (p *pipeline) sendBatch(all []*scriptRun) {
	ctx, stop := context.WithCancel(p.servers.Lifetime)
	defer stop()
	defer time.AfterFunc(batchTime+p.servers.ReplicaTimeout, stop).Stop()
	sent := time.Now()
	if p.addr == "" {
		results, _ := p.sendAll(ctx, p.servers.Client, all, 0)
		p.finish(ctx, all, results, time.Since(sent), p.servers.level == Default, nil)
		return
	}
	conn, err := p.connection(ctx)
	if err != nil {
		for _, r := range all {
			r.finish(p.servers.Counters, rueidis.NewErrorResult(err), false, nil)
		}
		return
	}
	wanted := max(p.servers.Wants(p.addr), 1)
	results, tail := p.sendAll(ctx, conn, all, wanted)
	p.release(conn, append(results, tail...))
	short, err := p.checkReplicas(tail, wanted)
	p.finish(ctx, all, results, time.Since(sent), short, err)
}

// finish passes the results of a batch that took so long to its writes. A reply
// of a master that has a successor confirms nothing: the successor may lack the
// write.
func (p *pipeline) finish(ctx context.Context, all []*scriptRun, results []rueidis.RedisResult, took time.Duration, short bool, err error) {
	replaced := err == nil && p.servers.doubts(p.master, took) && p.servers.succeeded(ctx, p.master)
	for i, r := range all {
		failed := err
		if w := r.writes[0]; err == nil && (replaced || w.asked == "" && !p.servers.isMaster(p.master, w.slot)) {
			failed = errReplaced
		}
		r.finish(p.servers.Counters, results[i], short, failed)
	}
}

// checkReplicas reads the reply of WAIT at the end of a batch. short is true if
// too few replicas confirmed the writes. It also returns an error if the
// durability level does not accept that.
func (p *pipeline) checkReplicas(tail []rueidis.RedisResult, wanted int) (short bool, err error) {
	for _, r := range tail {
		if err := r.Error(); err != nil {
			return false, err
		}
	}
	n, err := tail[len(tail)-1].AsInt64()
	if err != nil || int(n) >= wanted {
		return false, err
	}
	p.servers.ShortBatches.Add(1)
	return true, p.servers.level.unconfirmed(p.addr, int(n), wanted, p.servers.ReplicaTimeout)
}

// connection returns a connection that no other batch uses.
func (p *pipeline) connection(ctx context.Context) (rueidis.DedicatedClient, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		defer p.mu.Unlock()
		conn := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return conn, nil
	}
	p.mu.Unlock()
	node, ok := p.servers.Client.Nodes()[p.addr]
	if !ok {
		return nil, errNoNode
	}
	conn, _ := node.Dedicate()
	if err := conn.Do(ctx, conn.B().Ping().Build()).Error(); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// release keeps conn for the next batch, unless a result shows that conn is
// broken or that its server is no longer a master.
func (p *pipeline) release(conn rueidis.DedicatedClient, results []rueidis.RedisResult) {
	for _, r := range results {
		if err := r.Error(); err != nil && !rueidis.IsRedisNil(err) && !OutOfMemory(err) {
			p.servers.work.Go(conn.Close) // in the background, because Close can wait for a server that hangs
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, conn)
}

// sendAll sends all scripts in one pipeline. If replicas are wanted, a seal and
// a WAIT for that many follow.
func (p *pipeline) sendAll(ctx context.Context, c rueidis.CoreClient, all []*scriptRun, wanted int) (results, tail []rueidis.RedisResult) {
	runs := make([]pipelinedRun, len(all))
	for i, r := range all {
		if r.counts() {
			r.base = p.servers.Counters.Base(r.holder())
		}
		runs[i] = pipelinedRun{script: r.script, run: r.run(p.servers.Counters.Field), asking: wanted > 0 && r.writes[0].asked != ""}
	}
	if wanted == 0 {
		return execute(ctx, c, runs, nil)
	}
	sealing := pipelinedRun{script: seal, run: all[0].writes[0].seal(p.servers.Keys)}
	return execute(ctx, c, runs, func(b rueidis.Builder) (last rueidis.Commands) {
		if runs[0].asking {
			last = append(last, b.Asking().Build())
		}
		return append(last, sealing.command(b, false), b.Wait().Numreplicas(int64(wanted)).Timeout(p.servers.ReplicaTimeout.Milliseconds()).Build())
	})
}
