package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// Subject is a store that Differential compares with the reference.
type Subject struct {
	// Open returns an empty store, opened with Policy and AuditKeep.
	Open func(t *testing.T) store.Store

	// Reference returns the reference store with the contents c, opened in the
	// same way, as after the death of its process: each lease is reaped as of
	// now.
	Reference func(now task.Millis, c Contents) store.Store

	// Reopens are the ways in which the store can end and be opened again.
	// Empty for a store that cannot.
	Reopens []Reopen

	// OrderOfRecords is set if the store keeps the order of changes to one
	// record only. Scripts then have no call whose outcome depends on more.
	OrderOfRecords bool

	// Scripts is the number of random scripts. Default: 200, 20 in short tests,
	// and 8 in make test.
	Scripts int
}

// Contents is the state that outlives a store's process.
type Contents struct {
	Records  []*task.Task // with their bodies
	Settings []settings.Setting
	Audit    []settings.AuditEntry // the oldest first
}

// Reopen is one way in which a store ends and is opened again.
type Reopen struct {
	Name string // "close", "kill", ...

	// Do closes s and opens its data again. The store it returns has reaped all
	// leases as of now, with their holders gone.
	Do func(t *testing.T, s store.Store, now task.Millis) store.Store

	// LosesClaims allows the loss of claims and extensions made since the last
	// other change.
	LosesClaims bool
}

// scriptLength is the number of commands in a script.
const scriptLength = 150

// Differential runs the same random commands, with their times, on the store
// and the reference. After each command both must have returned the same, and
// must have the same state: all records with their bodies, all lanes in their
// order. If they differ, Differential prints the shortest script it can find
// that still makes them differ. A seed always gives the same script.
func Differential(t *testing.T, s Subject) {
	scripts := s.Scripts
	if scripts == 0 {
		scripts = 200
		if testing.Short() {
			scripts = quick.Of(40, 20)
		}
	}
	for seed := range scripts {
		sc := generate(s, uint64(seed), scriptLength)
		d := s.try(t, fmt.Sprintf("seed %d", seed), sc)
		if d == nil {
			continue
		}
		sc, d = s.shrink(t, sc, d)
		t.Fatalf("the store and the reference diverge (seed %d). The shortest script found:\n\n%s\nAfter its last command:\n%v", seed, sc, d.what)
	}
}

// divergence is a difference between the stores, and the step of the script
// that caused it.
type divergence struct {
	step int
	what error
}

// try runs a script in a subtest, so that the cleanups of Open and Do run after
// it.
func (s Subject) try(t *testing.T, name string, sc script) (d *divergence) {
	t.Run(name, func(t *testing.T) { d = s.execute(t, sc) })
	return d
}

// pair is the store and the reference in the middle of a script.
type pair struct {
	subject   Subject
	store     store.Store
	reference store.Store

	shown   view    // the last state of both stores
	base    view    // the state before pending
	pending []lease // since the last other change
}

// lease is a claim or an extension, and the time it was made.
type lease struct {
	at   task.Millis
	key  task.Key
	made task.Transition
}

// execute runs a script and returns the first divergence, or nil.
func (s Subject) execute(t *testing.T, sc script) *divergence {
	p := &pair{subject: s, store: s.Open(t), reference: s.Reference(start, Contents{})}
	defer func() { _ = p.store.Close() }()
	for i, l := range sc {
		err := p.step(t, l)
		if err == nil {
			err = p.compare(t.Context(), l)
		}
		if err != nil {
			return &divergence{step: i, what: err}
		}
	}
	return nil
}

func (p *pair) step(t *testing.T, l line) error {
	if c, ok := l.command.(reopen); ok {
		return p.reopen(t, l.at, p.subject.Reopens[c.way])
	}
	want, err := l.command.run(t.Context(), p.reference, l.at)
	if err != nil {
		return fmt.Errorf("the reference failed: %w", err)
	}
	got, err := l.command.run(t.Context(), p.store, l.at)
	if err != nil {
		return fmt.Errorf("the store failed: %w", err)
	}
	return differ("answers", want, got)
}

// reopen closes the store and opens it again. It puts the reference into that
// one of the allowed states that the store is in.
func (p *pair) reopen(t *testing.T, now task.Millis, way Reopen) error {
	p.store = way.Do(t, p.store, now)
	got, err := look(t.Context(), p.store)
	if err != nil {
		return fmt.Errorf("after %q: %w", way.Name, err)
	}
	least := len(p.pending)
	if way.LosesClaims {
		least = 0
	}
	var differences []error
	for survived := len(p.pending); survived >= least; survived-- {
		c := p.shown.Contents
		if survived < len(p.pending) {
			c.Records = leaseAll(p.base.Contents, p.pending[:survived])
		}
		p.reference = p.subject.Reference(now, c)
		want, err := look(t.Context(), p.reference)
		if err != nil {
			return fmt.Errorf("the reference failed: %w", err)
		}
		err = differ(fmt.Sprintf("after %q, if %d of %d leases survived, visible states", way.Name, survived, len(p.pending)), want, got)
		if err == nil {
			return nil
		}
		differences = append(differences, err)
	}
	return errors.Join(differences...)
}

// leaseAll applies leases to records.
func leaseAll(c Contents, leases []lease) []*task.Task {
	records, settings := slices.Clone(c.Records), settings.NewSettings(c.Settings...)
	for _, l := range leases {
		for i, t := range records {
			if t.Key() != l.key {
				continue
			}
			if r, _ := l.made.Apply(l.at, t, task.Facts{Policy: settings.Policy(Policy, t.Namespace, t.Queue)}); r.Task != nil { // with ErrExpired too
				records[i] = r.Task
			}
		}
	}
	return records
}

// compare compares both stores, and the lanes that the store names.
func (p *pair) compare(ctx context.Context, l line) error {
	want, err := look(ctx, p.reference)
	if err != nil {
		return fmt.Errorf("the reference failed: %w", err)
	}
	got, err := look(ctx, p.store)
	if err != nil {
		return fmt.Errorf("the store failed: %w", err)
	}
	if err := differ("visible states", want, got); err != nil {
		return err
	}
	p.remember(l, want)
	return p.compareLanes(ctx, l.at)
}

// remember keeps the current state, and the claims that a crash could take
// back. Any other confirmed change made those before it durable.
func (p *pair) remember(l line, now view) {
	var made []lease
	if c, ok := l.command.(transit); ok && (c.Steps[0].Kind == store.Claim || c.Steps[0].Kind == store.Extension) {
		for _, st := range c.Steps {
			made = append(made, lease{l.at, st.Key, st.Transition})
		}
	} else if _, reopened := l.command.(reopen); reopened || !reflect.DeepEqual(p.shown, now) {
		p.pending = nil
	}
	if len(p.pending) == 0 {
		p.base = p.shown
	}
	p.pending = append(p.pending, made...)
	p.shown = now
}

// compareLanes checks that Lanes hides no lane. It may return too many.
func (p *pair) compareLanes(ctx context.Context, now task.Millis) error {
	heads := map[task.Lane]*task.Task{}
	for _, t := range p.shown.Records {
		if h := heads[t.Lane()]; t.State == task.Scheduled && (h == nil || t.Due < h.Due) {
			heads[t.Lane()] = t
		}
	}
	for _, until := range []task.Millis{now, now + 1000, forever} {
		if err := lanesCover(ctx, p.store, until, heads); err != nil {
			return err
		}
	}
	return nil
}
