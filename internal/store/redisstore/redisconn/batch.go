package redisconn

import (
	"context"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
)

// Writes go in flights: what callers have while others are in the air leaves
// together with the next, items for one slot in one run of put. Where replicas
// have to confirm, a flight has a connection of its own and ends with a WAIT
// there, since that speaks of no other connection's writes.
const (
	maxFlights = 2    // of one line at once: with more of them fewer items share a run
	maxLoad    = 1024 // items of a flight, or some more
)

// flightTime bounds a flight, beside what it waits for replicas.
const flightTime = 5 * time.Second

// ride is what one caller has for one slot: items for put, or the run of another script.
type ride struct {
	script *Script
	shard  *keyspace.Shard // nil: settings
	slot   uint16          // 0 outside a cluster
	loose  bool            // no replica needs to confirm it
	clock  Clock
	store  string // its identity, for items
	fence  string // the purge that the caller's settings know of, for items
	items  []*Item
	run    Run

	tries int    // so many flights it was on
	asked string // the server that ASK has named for the next try
	done  chan landing
}

// landing is what became of a ride.
type landing struct {
	values      []rueidis.RedisMessage // the reply, or its part for the ride: of put the clock, then the items' outcomes
	unconfirmed bool                   // the level is Default, and no replica confirmed it: only the master has it for sure
	err         error
}

// Error returns why the ride failed.
func (l landing) Error() error { return l.err }

// seal returns the run that seals a flight in the ride's slot.
func (r *ride) seal() Run {
	if r.shard == nil {
		return Run{[]string{keyspace.SettingsSeal, keyspace.SettingsID}, []string{r.store}}
	}
	return Run{[]string{r.shard.Prefix + "seal", r.shard.Own}, []string{r.store}}
}

// line is the flights to one server whose replicas confirm, or those of the
// shared client, that need no confirmation. A flight's goroutine ends when
// nobody waits; Servers.Close waits for that.
type line struct {
	servers *Servers
	addr    string // "": the shared client

	mu      sync.Mutex // guards everything below
	waiting []*ride
	flying  int
	idle    []rueidis.DedicatedClient
}

// board lets rides leave with the next flight.
func (l *line) board(rides []*ride) {
	l.mu.Lock()
	l.waiting = append(l.waiting, rides...)
	fly := l.flying < maxFlights
	if fly {
		l.flying++
	}
	l.mu.Unlock()
	if fly {
		l.servers.work.Go(l.fly)
	}
}

func (l *line) fly() {
	for {
		rides := l.depart()
		if rides == nil {
			return
		}
		l.carry(pack(rides))
	}
}

// depart returns the rides of the next flight, nil where there are none.
func (l *line) depart() []*ride {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for load := 0; n < len(l.waiting) && load < maxLoad; n++ {
		load += max(len(l.waiting[n].items), 1)
	}
	if n == 0 {
		l.flying--
		return nil
	}
	rides := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	return rides
}

// passage is one run of a script, for many rides.
type passage struct {
	script *Script
	rides  []*ride
	items  int
}

// pack puts rides that can share a run of put into one.
func pack(rides []*ride) []*passage {
	type place struct {
		script *Script
		slot   uint16
		asked  string
		fence  string
	}
	var all []*passage
	open := map[place]*passage{}
	for _, r := range rides {
		at := place{r.script, r.slot, r.asked, r.fence}
		p := open[at]
		if p == nil || len(r.items) == 0 || p.items+len(r.items) > maxItems {
			p = &passage{script: r.script}
			all = append(all, p)
			if len(r.items) > 0 {
				open[at] = p
			}
		}
		p.rides, p.items = append(p.rides, r), p.items+len(r.items)
	}
	return all
}

// run returns the keys and arguments of p.
func (p *passage) run() Run {
	if p.items == 0 {
		return p.rides[0].run
	}
	latest := p.rides[0].clock
	for _, r := range p.rides {
		if r.clock.Now > latest.Now {
			latest = r.clock // the others waited longer: it is the same node's
		}
	}
	c := newCall(latest, p.rides[0].store, p.rides[0].shard.Own, p.rides[0].fence)
	for _, r := range p.rides {
		for _, it := range r.items {
			c.add(it)
		}
	}
	return Run{c.keys, c.args}
}

// land tells p's rides what became of them.
func (p *passage) land(r rueidis.RedisResult, unconfirmed bool, err error) {
	m, replied := r.ToMessage()
	if replied != nil {
		err = replied
	}
	values := []rueidis.RedisMessage{m}
	if err == nil && m.IsArray() {
		values, err = m.ToArray()
	}
	if err == nil && p.items > 0 && len(values) != 1+p.items {
		err = errDamaged
	}
	at := 1
	for _, one := range p.rides {
		one.asked = ""
		switch {
		case err != nil:
			if reply, ok := rueidis.IsRedisErr(err); ok {
				one.asked, _ = reply.IsAsk()
			}
			one.done <- landing{err: err}
		case p.items == 0:
			one.done <- landing{values: values, unconfirmed: unconfirmed}
		default:
			own := append(values[:1:1], values[at:at+len(one.items)]...)
			at += len(one.items)
			one.done <- landing{values: own, unconfirmed: unconfirmed}
		}
	}
}

// carry makes one flight.
func (l *line) carry(all []*passage) {
	ctx, stop := context.WithCancel(l.servers.Life)
	defer stop()
	defer time.AfterFunc(flightTime+l.servers.Word, stop).Stop()
	if l.addr == "" {
		results, _ := fly(ctx, l.servers.Client, all, 0, 0)
		for i, p := range all {
			p.land(results[i], l.servers.level == Default, nil)
		}
		return
	}
	conn, err := l.connection(ctx)
	if err != nil {
		for _, p := range all {
			p.land(rueidis.RedisResult{}, false, err)
		}
		return
	}
	wanted := max(l.servers.Wants(l.addr), 1)
	results, tail := fly(ctx, conn, all, wanted, l.servers.Word)
	l.release(conn, append(results, tail...))
	short, err := l.confirmed(tail, wanted)
	for i, p := range all {
		p.land(results[i], short, err)
	}
}

// confirmed reads the end of a flight. It reports whether too few replicas confirmed
// its writes, and returns an error if the level does not accept that.
func (l *line) confirmed(tail []rueidis.RedisResult, wanted int) (short bool, err error) {
	for _, r := range tail {
		if err := r.Error(); err != nil {
			return false, err
		}
	}
	n, err := tail[len(tail)-1].AsInt64()
	if err != nil || int(n) >= wanted {
		return false, err
	}
	l.servers.Shorts.Add(1)
	return true, l.servers.level.short(l.addr, int(n), wanted, l.servers.Word)
}

// connection returns a connection that nobody else uses.
func (l *line) connection(ctx context.Context) (rueidis.DedicatedClient, error) {
	l.mu.Lock()
	if n := len(l.idle); n > 0 {
		conn := l.idle[n-1]
		l.idle = l.idle[:n-1]
		l.mu.Unlock()
		return conn, nil
	}
	l.mu.Unlock()
	node, ok := l.servers.Client.Nodes()[l.addr]
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

// release takes conn back, if it may be used again: a broken one, and one whose
// server is no master any more, may not.
func (l *line) release(conn rueidis.DedicatedClient, results []rueidis.RedisResult) {
	for _, r := range results {
		if err := r.Error(); err != nil && !rueidis.IsRedisNil(err) && !OutOfMemory(err) {
			l.servers.work.Go(conn.Close) // that may wait for a server that says nothing
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, conn)
}

// close closes the connections. No flight is in the air.
func (l *line) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.idle {
		conn.Close()
	}
	l.idle = nil
}

// fly sends all in one pipeline, and behind it a seal and a WAIT for so many
// replicas, where some are wanted.
func fly(ctx context.Context, c rueidis.CoreClient, all []*passage, wanted int, word time.Duration) (results, tail []rueidis.RedisResult) {
	executions := make([]execution, len(all))
	for i, p := range all {
		executions[i] = execution{script: p.script, run: p.run(), asking: wanted > 0 && p.rides[0].asked != ""}
	}
	if wanted == 0 {
		return execute(ctx, c, executions, nil)
	}
	sealing := execution{script: seal, run: all[0].rides[0].seal()}
	return execute(ctx, c, executions, func(b rueidis.Builder) rueidis.Commands {
		var last rueidis.Commands
		if executions[0].asking {
			last = append(last, b.Asking().Build())
		}
		return append(last, sealing.command(b, false), b.Wait().Numreplicas(int64(wanted)).Timeout(word.Milliseconds()).Build())
	})
}
