// Package store is the contract that every store keeps: Store and its parts.
//
//	client ── Change ──► TaskStore ──────┐
//	                                     ├─► transition(now, old) ─► new record + indexes, one atomic batch
//	dispatch ─ Claim ──► DispatchStore ──┘                                │
//	    ▲      Settle                                                     │
//	    └─────────────────────── Watch (hints), LanePages and Peek ◄──────┘
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
//
// The package has only the contract, its value types and small helpers. The stores
// are in the directories below, and storetest is the contract as tests.
package store
