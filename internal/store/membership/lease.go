package membership

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

func (m *Member) lease(ctx context.Context, verb Verb, shards []int) []LeaseReply {
	return m.registry.Lease(ctx, verb, m.Process, m.config.Lease, shards)
}

// release releases shards: first in this process, and after that in the registry. It
// reports whether other nodes can acquire them at once.
func (m *Member) release(ctx context.Context, shards []int) bool {
	now := time.Now()
	for _, i := range shards {
		m.disown(i, claimState{since: now, until: now.Add(m.config.Heartbeat)})
	}
	failed, first := 0, error(nil)
	for n, g := range m.lease(ctx, giveBack, shards) {
		m.listed(shards[n], g.Err != nil)
		if g.Err != nil {
			failed, first = failed+1, cmp.Or(first, g.Err)
		}
	}
	m.config.Note("release shards", first, "shards", failed, "effect", "their next owners wait until the leases of this node end")
	return first == nil
}

// hold acquires shards or renews their leases, and the next step retries those that
// failed.
func (m *Member) hold(ctx context.Context, shards []int) {
	if len(shards) == 0 {
		return
	}
	sent := time.Now() // the lease counts from here, so it ends earlier in this process than in the registry
	failed, first := 0, error(nil)
	var all []LeaseReply
	m.within(ctx, func(ctx context.Context) { all = m.lease(ctx, hold, shards) })
	for n, g := range all {
		i := shards[n]
		if g.Err != nil {
			failed, first = failed+1, cmp.Or(first, fmt.Errorf("shard %d: %w", i, g.Err))
			m.listed(i, true) // the call may have been made
			continue
		}
		m.accept(i, g, sent)
	}
	m.config.Note("own shards", first, "shards", failed)
}

// prepare has the store read the owned shards that it has not read yet. It reports
// whether it has read them all, and the next step retries the others.
func (m *Member) prepare(ctx context.Context) bool {
	fresh := slices.DeleteFunc(m.all(), func(h *Owned) bool { return h.Ready.Load() })
	if len(fresh) == 0 {
		return true
	}
	var err error
	m.within(ctx, func(ctx context.Context) { err = m.config.Prepare(ctx, fresh) })
	m.config.Note("read owned shards", err, "effect", "their tasks that were made before are late")
	return err == nil
}

// accept records the owner of shard i, from a reply to a call that was sent at sent.
func (m *Member) accept(i int, g LeaseReply, sent time.Time) {
	if !strings.HasPrefix(g.Owner, m.Process+"/") {
		if m.states[i].held {
			m.lost.Add(1)
		}
		m.disown(i, claimState{since: sent, until: time.Now().Add(g.Left)})
		if g.Owner != "" { // else the registry may list a lease of this process that has ended, and renew it
			m.listed(i, false)
		}
		return
	}
	h := m.owned[i].Load()
	fresh := h == nil || h.ID != g.Owner || !h.holds(m.instant(time.Now())) // see renewed
	if fresh {
		m.disown(i, claimState{})
		h = &Owned{Shard: i, ID: g.Owner}
	}
	m.extend(h, sent)
	if fresh {
		m.take(h)
	}
}

// extend renews the lease of h in this process.
func (m *Member) extend(h *Owned, sent time.Time) {
	end := sent.Add(m.config.acts())
	until := m.instant(end)
	h.until.Store(&until)
	m.states[h.Shard] = claimState{held: true, since: sent, until: end}
	m.listed(h.Shard, true)
}

// Doubt ends all leases in this process, so that it acquires its shards again. Any goroutine
// may call it.
func (m *Member) Doubt() {
	for i := range m.owned {
		if h := m.owned[i].Load(); h != nil {
			h.end() // see disownExpired
		}
	}
}

// listed records whether the registry may have this process as the owner of shard i.
func (m *Member) listed(i int, may bool) { m.states[i].listed = may && m.config.BeatRenews }

// renewed records what a heartbeat that was sent at sent did to the leases. If they have
// moved, the registry can have lost changes, so that it lists shards again that this process
// has given up.
func (m *Member) renewed(found Found, sent time.Time) {
	if found == Moved {
		for i := range m.states {
			m.listed(i, true)
		}
	}
	now := m.instant(time.Now())
	for _, h := range m.all() {
		switch {
		case found == Moved:
			h.end() // see disownExpired
		case found == stood && h.holds(now): // the store read nothing of a shard after its lease
			m.extend(h, sent)
		}
	}
}
