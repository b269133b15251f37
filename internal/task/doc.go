// Package task is the domain of the service: the record of a task, its states
// and transitions.
//
// A timer lives in memory, but a task survives a crash: it is an HTTP request
// and the time to send it.
//
// The package is pure: it reads no clock and does no I/O, because time and
// random identifiers are arguments. Each transition takes an old record and
// returns a new one. A store loads a record, calls a transition, and writes the
// difference, so all stores behave alike: see internal/store for their contract.
//
// The rule of a schedule and its instants are in internal/task/recurrence; the
// treatment of missed instants is there in missed_instants.go.
package task
