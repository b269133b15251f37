// Package storetest is the contract of store.Store, as tests that run on any
// store.
//
// Differential runs the same random commands on a store and on the reference,
// memstore, and requires equal replies and equal visible states after each of
// them. memstore decides by itself, and the other stores decide with package
// kernel, so an error of one of them is a difference. A failure prints the
// shortest script that still diverges.
//
// Run checks rules one by one. It has those that every user counts on, and those
// that a random script cannot reach: many callers at once, limits, hints, long
// times. A failure prints the broken rule.
//
// CheckInvariants audits a store at rest. Other tests use it too, for example
// after a crash.
//
// Time is an argument throughout: no decision reads a clock, so a failing case
// fails again.
package storetest
