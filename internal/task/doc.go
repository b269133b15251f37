// Package task is the domain of the service: what a task is, the transition
// table of its life, and the contract that every store keeps.
//
// A timer lives in memory; a task survives a crash: it is an HTTP request and
// the time to send it. The package is pure. It reads no clock and does no I/O:
// time is an argument, randomness arrives as ready identifiers, and each
// transition takes an old record and returns a new one. Stores load, call a
// transition, and write down the difference, so that all of them behave alike;
// their shared suite is internal/store/storetest.
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
//   - A record leaves only through delivered, cancelled, dead, expired or by
//     being replaced, and a finished or dead one only when its retention ended.
//   - Every lease ends: settled by its token, or reaped.
//   - Nothing that is not yet durable is claimed, listed or answered.
//   - Equal commands leave equal visible states.
package task
