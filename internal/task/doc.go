// Package task is the domain of the service: the record of a task, its states
// and transitions, and the contract that every store keeps.
//
// A timer lives in memory. A task survives a crash: it is an HTTP request and
// the time to send it.
//
// The package is pure: it reads no clock and does no I/O. Time and random
// identifiers are arguments. Each transition takes an old record and returns a
// new one. A store loads a record, calls a transition, and writes the
// difference, so all stores behave alike. Their shared test suite is
// internal/store/storetest.
//
// The data goes one way:
//
//	client ── Change ──► Ledger ─┐
//	                             ├─► transition(now, old) ─► new record + indexes, one atomic batch
//	dispatch ─ Claim ──► Queue ──┘                                   │
//	    ▲      Settle                                                │
//	    └──────────────────────── Watch (hints), Lanes and Peek ◄────┘
//
// Invariants that every store keeps:
//
//   - A live task (scheduled or running) is in exactly one index and has its record.
//   - A live task ends as delivered, cancelled, dead or expired, or is replaced.
//     The record of a finished or dead task is removed when its retention has
//     ended, and not before.
//   - Every lease ends: settled by its token, or reaped.
//   - A state is claimed, listed or returned only when it is durable.
//   - Equal commands leave equal visible states.
package task
