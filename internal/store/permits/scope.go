package permits

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/store"
)

const (
	poll  = 250_000   // after how long a process asks again for more
	fresh = 1_000_000 // how long an ask counts as wanting permits
	ahead = 50_000    // how much later than now the last token can be
)

// Scope is the state of one limit. A store keeps its JSON. The zero Scope is new.
type Scope struct {
	Permits  map[string]*holding `json:"permits,omitempty"` // by process
	Tokens   map[string]*holding `json:"tokens,omitempty"`  // by process
	Full     float64             `json:"full,omitempty"`
	Interval float64             `json:"interval,omitempty"` // the time for a token when Full was set
}

// holding is the part of a limit that a process holds, with its wait for more.
type holding struct {
	Held    int    `json:"held,omitempty"`
	Want    int    `json:"want,omitempty"`
	Until   int64  `json:"until"` // the end of its lease
	Fresh   int64  `json:"fresh,omitempty"`
	Since   int64  `json:"since,omitempty"`   // the begin of its slice of a permit, or of its wait for a token
	Number  uint64 `json:"number"`            // of its last ask
	Replied int    `json:"replied,omitempty"` // the share in the last reply
	Used    uint64 `json:"used,omitempty"`    // tokens it has ever used
	Ready   int64  `json:"ready,omitempty"`   // when its last token can be used

	name         string // divide sets the fields from here
	wants, share int
	left, order  int64
}

// ask is an ask under way.
type ask struct {
	store.PermitAsk
	store.PermitReply
	now, lease, again int64
	process           string
	number            uint64
	hints             map[string]bool
}

// Ask changes s by an ask of a process, and returns the reply and the processes
// that should ask again. now is the time of the store's clock in microseconds. A
// process numbers its asks from 1.
func (s *Scope) Ask(now int64, process string, number uint64, lease time.Duration, question store.PermitAsk) (store.PermitReply, []string) {
	a := ask{
		PermitAsk: question, PermitReply: store.PermitReply{Lease: lease, Share: -1},
		now: now, lease: lease.Microseconds(), process: process, number: number, hints: map[string]bool{},
	}
	if a.Concurrency > 0 {
		s.permits(&a)
	}
	if a.Rate > 0 {
		s.tokens(&a)
	}
	a.Again = micros(a.again)
	delete(a.hints, process)
	return a.PermitReply, slices.Sorted(maps.Keys(a.hints))
}

// End returns when s is as good as new if no ask follows, even if all tokens on
// hand are used.
func (s *Scope) End() int64 {
	end, out := s.Full, 0
	for _, p := range s.Tokens {
		end, out = max(end, float64(p.Until)), out+p.Held
	}
	for _, p := range s.Permits {
		end = max(end, float64(p.Until))
	}
	return int64(end + span(float64(out), s.Interval))
}

// enter removes the holdings with leases that have ended, and returns that of the
// process and, in the order of their ends, the removed ones.
func (a *ask) enter(all *map[string]*holding) (me *holding, ended []*holding) {
	if *all == nil {
		*all = map[string]*holding{}
	}
	for name, p := range *all {
		if p.Until > a.now+a.lease {
			p.Until, p.Since = a.now+a.lease, min(p.Since, a.now)
			p.Fresh, p.Ready = min(p.Fresh, a.now+fresh), min(p.Ready, a.now+ahead)
		}
		if p.Until <= a.now {
			delete(*all, name)
			ended = append(ended, p)
		}
	}
	slices.SortFunc(ended, func(p, q *holding) int { return cmp.Or(cmp.Compare(p.Until, q.Until), p.Held-q.Held) })
	if me = (*all)[a.process]; me == nil {
		me = &holding{Used: a.Used}
	}
	return me, ended
}

// later makes the process ask again after a time, or earlier.
func (a *ask) later(after int64) {
	if a.again == 0 || after < a.again {
		a.again = after
	}
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// span is the time for n tokens. The conversion rounds: otherwise some processors
// add to the exact product, and decide differently.
func span(n, interval float64) float64 { return float64(n * interval) }

// permits applies the part of an ask about permits.
func (s *Scope) permits(a *ask) {
	me, _ := a.enter(&s.Permits)
	if a.number <= me.Number {
		a.Held, a.Share = me.Held, me.Replied
		return
	}
	me.Held, me.Want, me.Until, me.Fresh, me.Number = min(me.Held, a.Keep), a.Want, a.now+a.lease, a.now+fresh, a.number
	s.Permits[a.process] = me
	free := a.Concurrency
	for _, p := range s.Permits {
		free -= p.Held
	}
	level, slice, enough := divide(s.Permits, a.Concurrency, a.now)
	more := max(0, min(a.Want, me.share, me.Held+free)-me.Held)
	me.Held, free = me.Held+more, free-more
	if a.Want > me.Held {
		a.later(poll)
	}
	if !enough && me.Held > level && me.share > level {
		if me.left <= 0 {
			me.Since, me.left = a.now, slice
		}
		a.later(me.left)
	}
	if me.Replied = me.share; enough {
		me.Replied = -1
	}
	a.Held, a.Share = me.Held, me.Replied
	if me.Held == 0 && a.Want == 0 {
		delete(s.Permits, a.process)
	}
	for name, p := range s.Permits {
		if p.Held > p.share && p.Replied != p.share || free > 0 && p.share > p.Held {
			a.hints[name] = true
		}
	}
}

// divide divides a limit among processes. It sets the share of each, and returns
// the level, the slice of a permit above it, and whether all get the number they
// want.
func divide(all map[string]*holding, limit int, now int64) (level int, slice int64, enough bool) {
	sum, list := 0, make([]*holding, 0, len(all))
	for name, p := range all {
		p.name, p.wants = name, p.Held
		if p.Fresh > now {
			p.wants = max(p.Want, 0)
		}
		p.share = p.wants
		sum, list = sum+p.wants, append(list, p)
	}
	if sum <= limit {
		return limit, 0, true
	}
	slices.SortFunc(list, func(p, q *holding) int { return p.wants - q.wants })
	for list[0].wants <= limit/len(list) {
		limit, list = limit-list[0].wants, list[1:]
	}
	if level, slice = limit/len(list), 1_000_000; level == 0 {
		slice = 200_000
	}
	for _, p := range list {
		p.share, p.left, p.order = level, slice-(now-p.Since), p.Since
		if p.Held > level && p.left > 0 {
			p.order = -1
		}
	}
	slices.SortFunc(list, func(p, q *holding) int { return cmp.Or(cmp.Compare(p.order, q.order), cmp.Compare(p.name, q.name)) })
	for _, p := range list[:limit%len(list)] {
		p.share++
	}
	return level, slice, false
}

// tokens applies the part of an ask about tokens.
func (s *Scope) tokens(a *ask) {
	now, interval, depth := float64(a.now), 1e6/a.Rate, float64(a.Burst)
	if s.Interval == 0 {
		s.Full, s.Interval = now, interval
	}
	me, ended := a.enter(&s.Tokens)
	for _, p := range ended { // their tokens count as used when their leases ended
		s.Full = max(s.Full, float64(p.Until)) + span(float64(p.Held), s.Interval)
	}
	defer func() { a.PermitReply.Tokens, a.After = me.Held, micros(max(me.Ready-a.now, 0)) }()
	if a.number <= me.Number {
		return
	}
	s.Full = min(s.Full, now+span(depth+1, s.Interval)+ahead)
	if s.Interval != interval {
		s.Full = now + span(min(max(s.Full-now, 0)/s.Interval, depth), interval)
		s.Interval = interval
	}
	if a.Used > me.Used {
		spent := float64(a.Used - me.Used)
		s.Full = max(s.Full, now-float64(max(a.UsedAgo, 0).Microseconds())) + span(spent, interval)
		me.Held = int(max(float64(me.Held)-spent, 0))
	}
	me.Held = min(me.Held, a.PermitAsk.Tokens)
	me.Used, me.Until, me.Number, me.Want, me.Fresh = a.Used, a.now+a.lease, a.number, 0, 0
	s.Tokens[a.process] = me
	out, before := 0, 0 // the tokens of others, and those that others get first
	waits := func(p *holding) bool { return p != me && p.Since > 0 && p.Fresh > a.now }
	for name, p := range s.Tokens {
		if p != me {
			out += p.Held
		}
		if waits(p) && (me.Since == 0 || p.Since < me.Since || p.Since == me.Since && name < a.process) {
			before += p.Want
		}
	}
	slice := max(1, int(ahead/interval))
	free := func() float64 { return depth - max(s.Full-now, 0)/interval - float64(out) - float64(me.Held) }
	have := int(math.Floor(free() - float64(before) + 1e-6))
	wait := math.Ceil((float64(before) + 1 - free()) * interval)
	switch need := a.PermitAsk.Tokens - me.Held; {
	case need <= 0:
		me.Since = 0
	case have >= 1:
		me.Held, me.Since = me.Held+min(need, have, max(slice, have/2)), 0
	case before == 0 && me.Held == 0 && wait <= ahead && wait <= s.Full-now:
		me.Held, me.Ready, me.Since = 1, a.now+int64(wait), 0
	default:
		if me.Since == 0 {
			me.Since = a.now
		}
		after := int64(max(1000, min(fresh, wait-min(ahead, math.Floor(interval/2)))))
		me.Want, me.Fresh = min(need, slice), a.now+after+poll
		a.later(after)
	}
	if me.Held == 0 && a.PermitAsk.Tokens == 0 {
		delete(s.Tokens, a.process)
	}
	for name, p := range s.Tokens {
		if free() >= 1 && waits(p) {
			a.hints[name] = true
		}
	}
}

// Name encodes a scope as a string for keys and messages. A destination can contain
// a slash, but the other parts cannot.
func Name(s store.PermitScope) string {
	name := s.Namespace + "/" + s.Queue
	if s.Destination != "" {
		name += "/" + s.Destination
	}
	return name
}

// ParseName returns the scope that has a name.
func ParseName(name string) (s store.PermitScope, ok bool) {
	parts := append(strings.SplitN(name, "/", 3), "", "")
	return store.PermitScope{Namespace: parts[0], Queue: parts[1], Destination: parts[2]}, parts[1] != ""
}
