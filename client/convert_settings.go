package client

import (
	"encoding/json"

	"github.com/foliot/foliot/internal/wire"
)

// This file converts all other types to those of the API and back.

// MarshalJSON returns the settings as the API takes them.
func (s QueueSettings) MarshalJSON() ([]byte, error) { return marshal(s.wire()) }

// UnmarshalJSON reads settings as the API takes them.
func (s *QueueSettings) UnmarshalJSON(data []byte) error {
	return read(data, s, (*decoder).queueSettings)
}

// MarshalJSON returns the queue as the API writes it.
func (q Queue) MarshalJSON() ([]byte, error) {
	return marshal(wire.Queue{
		QueueInput: q.QueueSettings.wire(),
		Name:       q.Name, Paused: q.Paused, PausedUntil: instant(q.PausedUntil), Purging: q.Purging,
		Version: q.Version, CreatedAt: instant(q.CreatedAt), Counts: wire.Counts(q.Counts), Unconfirmed: q.Unconfirmed,
	})
}

// UnmarshalJSON reads a queue as the API writes it.
func (q *Queue) UnmarshalJSON(data []byte) error {
	return read(data, q, func(d *decoder, w wire.Queue) Queue {
		return Queue{
			QueueSettings: d.queueSettings(w.QueueInput),
			Name:          w.Name, Paused: w.Paused, PausedUntil: d.instant(w.PausedUntil), Purging: w.Purging,
			Version: w.Version, CreatedAt: d.instant(w.CreatedAt), Counts: Counts(w.Counts), Unconfirmed: w.Unconfirmed,
		}
	})
}

func (s QueueSettings) wire() wire.QueueInput {
	return wire.QueueInput{
		Rate: s.Rate, Burst: s.Burst, Concurrency: s.Concurrency, PerDestination: s.PerDestination,
		Retry: s.Retry.wire(), Timeout: duration(s.Timeout), ExpireAfter: limit(s.ExpireAfter), OnDead: s.OnDead,
		KeepFinished: duration(s.KeepFinished), KeepDead: duration(s.KeepDead), KeepBodies: s.KeepBodies, ManagedBy: s.ManagedBy,
	}
}

func (d *decoder) queueSettings(w wire.QueueInput) QueueSettings {
	return QueueSettings{
		Rate: w.Rate, Burst: w.Burst, Concurrency: w.Concurrency, PerDestination: w.PerDestination,
		Retry: d.retry(w.Retry), Timeout: d.duration(w.Timeout), ExpireAfter: d.limit(w.ExpireAfter), OnDead: w.OnDead,
		KeepFinished: d.duration(w.KeepFinished), KeepDead: d.duration(w.KeepDead), KeepBodies: w.KeepBodies, ManagedBy: w.ManagedBy,
	}
}

// MarshalJSON returns the settings as the API takes them.
func (s NamespaceSettings) MarshalJSON() ([]byte, error) { return marshal(wire.NamespaceInput(s)) }

// UnmarshalJSON reads settings as the API takes them.
func (s *NamespaceSettings) UnmarshalJSON(data []byte) error {
	return read(data, s, func(_ *decoder, w wire.NamespaceInput) NamespaceSettings { return NamespaceSettings(w) })
}

// MarshalJSON returns the namespace as the API writes it.
func (n Namespace) MarshalJSON() ([]byte, error) {
	return marshal(wire.Namespace{
		NamespaceInput: wire.NamespaceInput(n.NamespaceSettings),
		Name:           n.Name, Version: n.Version, CreatedAt: instant(n.CreatedAt), Counts: wire.Counts(n.Counts), Schedules: n.Schedules, Unconfirmed: n.Unconfirmed,
	})
}

// UnmarshalJSON reads a namespace as the API writes it.
func (n *Namespace) UnmarshalJSON(data []byte) error {
	return read(data, n, func(d *decoder, w wire.Namespace) Namespace {
		return Namespace{
			NamespaceSettings: NamespaceSettings(w.NamespaceInput),
			Name:              w.Name, Version: w.Version, CreatedAt: d.instant(w.CreatedAt), Counts: Counts(w.Counts), Schedules: w.Schedules, Unconfirmed: w.Unconfirmed,
		}
	})
}

// MarshalJSON returns the spec as the API takes it.
func (s TokenSpec) MarshalJSON() ([]byte, error) {
	return marshal(wire.TokenInput{
		Scope: string(s.Scope), Namespace: s.Namespace, Label: s.Label,
		ExpiresIn: duration(s.ExpiresIn), ExpiresAt: instant(s.ExpiresAt),
	})
}

// MarshalJSON returns the token as the API writes it, with its secret if that
// is known.
func (t Token) MarshalJSON() ([]byte, error) { return marshal(t.wire()) }

// UnmarshalJSON reads a token as the API writes it.
func (t *Token) UnmarshalJSON(data []byte) error {
	return read(data, t, (*decoder).token)
}

func (t Token) wire() wire.Token {
	return wire.Token{
		ID: t.ID, Namespace: t.Namespace, Scope: string(t.Scope), Label: t.Label, Parent: t.Parent, State: t.State,
		CreatedAt: instant(t.CreatedAt), ExpiresAt: instant(t.ExpiresAt), RevokedAt: instant(t.RevokedAt), LastUsedAt: instant(t.LastUsedAt),
		ActiveChildren: t.ActiveChildren, Token: t.Token, Unconfirmed: t.Unconfirmed,
	}
}

func (d *decoder) token(w wire.Token) Token {
	return Token{
		ID: w.ID, Namespace: w.Namespace, Scope: Scope(w.Scope), Label: w.Label, Parent: w.Parent, State: w.State,
		CreatedAt: d.instant(w.CreatedAt), ExpiresAt: d.instant(w.ExpiresAt), RevokedAt: d.instant(w.RevokedAt), LastUsedAt: d.instant(w.LastUsedAt),
		ActiveChildren: w.ActiveChildren, Token: w.Token, Unconfirmed: w.Unconfirmed,
	}
}

// MarshalJSON returns the spec as the API takes it.
func (s SecretSpec) MarshalJSON() ([]byte, error) {
	return marshal(wire.SecretInput{Queue: s.Queue, Secret: s.Secret, Overlap: duration(s.Overlap)})
}

// MarshalJSON returns the secret as the API writes it, with its key if that is
// known.
func (s Secret) MarshalJSON() ([]byte, error) {
	return marshal(wire.Secret{
		ID: s.ID, Queue: s.Queue, CreatedAt: instant(s.CreatedAt), ExpiresAt: instant(s.ExpiresAt), BesideUntil: instant(s.NamespaceSignsUntil), Secret: s.Secret, Unconfirmed: s.Unconfirmed,
	})
}

// UnmarshalJSON reads a secret as the API writes it.
func (s *Secret) UnmarshalJSON(data []byte) error {
	return read(data, s, func(d *decoder, w wire.Secret) Secret {
		return Secret{
			ID: w.ID, Queue: w.Queue, CreatedAt: d.instant(w.CreatedAt), ExpiresAt: d.instant(w.ExpiresAt), NamespaceSignsUntil: d.instant(w.BesideUntil), Secret: w.Secret, Unconfirmed: w.Unconfirmed,
		}
	})
}

// MarshalJSON returns the entry as the API writes it.
func (e AuditEntry) MarshalJSON() ([]byte, error) {
	return marshal(wire.AuditEntry{
		At: instant(e.At), By: e.By, Addr: e.Addr, Namespace: e.Namespace, Action: e.Action, Target: e.Target,
		ID: e.ID, Version: e.Version, Detail: e.Detail,
	})
}

// UnmarshalJSON reads an entry as the API writes it.
func (e *AuditEntry) UnmarshalJSON(data []byte) error {
	return read(data, e, func(d *decoder, w wire.AuditEntry) AuditEntry {
		return AuditEntry{
			At: d.instant(w.At), By: w.By, Addr: w.Addr, Namespace: w.Namespace, Action: w.Action, Target: w.Target,
			ID: w.ID, Version: w.Version, Detail: w.Detail,
		}
	})
}

// MarshalJSON returns the live data as the API writes it.
func (l Live) MarshalJSON() ([]byte, error) {
	totals := wire.AttemptTotals(l.Attempts)
	w := wire.Live{
		Now: instant(l.Now), At: instant(l.At), Running: l.Running, Slots: l.Slots, Attempts: &totals, Suspended: l.Suspended,
		Late: l.Late.wire(), Waited: l.Waited.wire(),
		Queues: make([]wire.LiveQueue, len(l.Queues)), Destinations: make([]wire.LiveDestination, len(l.Destinations)),
	}
	for i, q := range l.Queues {
		w.Queues[i] = wire.LiveQueue{
			Namespace: q.Namespace, Queue: q.Queue, Running: q.Running, Overdue: q.Overdue, OldestMS: inMS(q.Oldest), LimitedBy: q.LimitedBy,
		}
	}
	for i, t := range l.Destinations {
		w.Destinations[i] = wire.LiveDestination{
			Namespace: t.Namespace, Destination: t.Destination, Running: t.Running, Overdue: t.Overdue, OldestMS: inMS(t.Oldest),
			Breaker: t.Breaker, OpenUntil: instant(t.OpenUntil),
		}
	}
	return marshal(w)
}

func (l Lateness) wire() *wire.Lateness {
	return &wire.Lateness{Count: l.Count, P50MS: inMS(l.P50), P90MS: inMS(l.P90), P99MS: inMS(l.P99), MaxMS: inMS(l.Max)}
}

func lateness(w *wire.Lateness) Lateness {
	if w == nil {
		return Lateness{}
	}
	return Lateness{Count: w.Count, P50: milliseconds(w.P50MS), P90: milliseconds(w.P90MS), P99: milliseconds(w.P99MS), Max: milliseconds(w.MaxMS)}
}

// UnmarshalJSON reads live data as the API writes it.
func (l *Live) UnmarshalJSON(data []byte) error { return read(data, l, (*decoder).live) }

func (d *decoder) live(w wire.Live) Live {
	l := Live{Now: d.instant(w.Now), At: d.instant(w.At), Running: w.Running, Slots: w.Slots, Suspended: w.Suspended}
	l.Late, l.Waited = lateness(w.Late), lateness(w.Waited)
	if w.Attempts != nil {
		l.Attempts = AttemptTotals(*w.Attempts)
	}
	for _, q := range w.Queues {
		l.Queues = append(l.Queues, LiveQueue{
			Namespace: q.Namespace, Queue: q.Queue, Running: q.Running, Overdue: q.Overdue, Oldest: milliseconds(q.OldestMS), LimitedBy: q.LimitedBy,
		})
	}
	for _, t := range w.Destinations {
		l.Destinations = append(l.Destinations, LiveDestination{
			Namespace: t.Namespace, Destination: t.Destination, Running: t.Running, Overdue: t.Overdue, Oldest: milliseconds(t.OldestMS),
			Breaker: t.Breaker, OpenUntil: d.instant(t.OpenUntil),
		})
	}
	return l
}

// MarshalJSON returns the decision as the API writes it.
func (e Egress) MarshalJSON() ([]byte, error) {
	w := wire.Egress{URL: e.URL, Scheme: e.Scheme, Host: e.Host, Port: e.Port, Open: e.Open, Problem: e.Problem, Addresses: make([]wire.EgressAddress, len(e.Addresses))}
	for i, a := range e.Addresses {
		w.Addresses[i] = wire.EgressAddress(a)
	}
	return marshal(w)
}

// UnmarshalJSON reads a decision as the API writes it.
func (e *Egress) UnmarshalJSON(data []byte) error {
	return read(data, e, func(_ *decoder, w wire.Egress) Egress {
		e := Egress{URL: w.URL, Scheme: w.Scheme, Host: w.Host, Port: w.Port, Open: w.Open, Problem: w.Problem}
		for _, a := range w.Addresses {
			e.Addresses = append(e.Addresses, EgressAddress(a))
		}
		return e
	})
}

// read decodes JSON of the API's type W and converts it to v.
func read[W, T any](data []byte, v *T, convert func(*decoder, W) T) error {
	var w W
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	var d decoder
	*v = convert(&d, w)
	return d.err
}
