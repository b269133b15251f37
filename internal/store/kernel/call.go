package kernel

import (
	"cmp"
	"context"
	"errors"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store/quota"
	"github.com/foliot/foliot/internal/task"
)

// Call has the inputs of Decide that all steps of a call share, and a Medium embeds it.
type Call struct {
	At     task.Millis // the time
	Who    settings.Actor
	Policy task.Policy // see Facts.Retention
	Quotas *quota.Quotas
	Wrote  func(old, t *task.Task) // see store.Watcher

	provisional int // changes that quotas have admitted on a guess in this round
}

func (c *Call) call() *Call { return c }

// begin begins a round: it reads the counts of namespaces with quotas.
func begin[R recorded, X any](ctx context.Context, c *Call, open []*Progress[R, X]) error {
	c.provisional = 0
	for _, p := range open {
		if p.needsQuota() && !p.Done {
			if err := c.Quotas.Refresh(ctx, p.Key.Namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// admission is a change that counts as under way in the quotas of its namespace; t is nil
// if there is none.
type admission struct{ old, t *task.Task }

// decide decides a step, or returns false if the next round must decide.
func decide[R recorded, X any](m Medium[R, X], p *Progress[R, X]) (d Decision, ok bool) {
	c := m.call()
	f := facts[R, X]{Medium: m, c: c, p: p, settings: c.Quotas.Settings()}
	if p.needsQuota() {
		f.limits = c.Quotas.Limits(f.settings, p.Key.Namespace)
	}
	if f.limits != nil {
		c.Quotas.Deciding.Lock()
		defer c.Quotas.Deciding.Unlock()
	}
	var spawned *task.Task
	if p.Pend != nil {
		var exceeded error
		if spawned, exceeded = p.Pend(&f); exceeded != nil && c.provisional > 0 {
			return d, false
		}
	}
	d = Decide(c.At, c.Who, &p.Step, p.KeyOwner, p.Old.Current(), &f)
	if !d.Applied { // perhaps the task that fills the quota is not created: the next round decides
		_, quota := errors.AsType[*task.QuotaError](d.Err)
		return d, !quota || c.provisional == 0 || p.Guessed()
	}
	if p.Pend != nil {
		d.Writes, d.Spawned = true, cmp.Or(d.Spawned, spawned)
	}
	if f.limits != nil && d.Writes {
		p.admitted = [2]admission{{p.stored(), d.Task}, {nil, d.Spawned}}
		for _, a := range p.admitted {
			if a.t != nil {
				c.Quotas.Begin(a.old, a.t)
			}
		}
		if p.Guessed() {
			c.provisional++
		}
	}
	return d, true
}

// facts are the Facts of a decision, for which the caller holds Deciding if there are
// limits.
type facts[R recorded, X any] struct {
	Medium[R, X]
	c        *Call
	p        *Progress[R, X]
	settings *settings.Settings
	limits   *settings.NamespaceSettings // the quotas of its namespace; nil means none
}

func (f *facts[R, X]) Settings() *settings.Settings { return f.settings }

func (f *facts[R, X]) Retention() task.Policy { return f.c.Policy }

func (f *facts[R, X]) Quota(namespace string) task.Quota {
	if f.limits == nil {
		return task.Quota{}
	}
	return f.limits.Quota(f.c.Quotas.Counts(namespace))
}

func (f *facts[R, X]) Unfinished(task.Key) int64 { return f.p.Unfinished }

func (f *facts[R, X]) Room(n Need) error { return f.RoomFor(f.p, n) }

// Kept counts the change of a step, which was written, into the quotas, and the task that
// it spawns if that was created. It returns the entries that the two add to lanes.
func (p *Progress[R, X]) Kept(c *Call, created bool) (entries []task.Entry) {
	old, t := p.stored(), p.Decision.Task
	c.Quotas.Commit(p.Key.Namespace, old, t, p.admitted[0].t != nil)
	p.admitted[0] = admission{}
	p.Wrote(c, created)
	if e, ok := task.Hint(old, t); ok {
		entries = append(entries, e)
	}
	if s := p.Decision.Spawned; s != nil && created {
		c.Quotas.Commit(p.Key.Namespace, nil, s, p.admitted[1].t != nil)
		p.admitted[1] = admission{}
		entries = append(entries, s.Entry())
	}
	return entries
}

// Wrote calls the watcher with the change of a step, and with the task that it spawns if that
// was created.
func (p *Progress[R, X]) Wrote(c *Call, created bool) {
	c.Wrote(p.stored(), p.Decision.Task)
	if s := p.Decision.Spawned; s != nil && created {
		c.Wrote(nil, s)
	}
}

// unadmit stops counting the changes of steps as under way that were not written.
func unadmit[R recorded, X any](c *Call, steps []*Progress[R, X]) {
	for _, p := range steps {
		for _, a := range p.admitted {
			if a.t != nil {
				c.Quotas.EndUnderWay(a.old, a.t)
			}
		}
		p.admitted = [2]admission{}
	}
}
