// Package storetest is the contract of store.Store, as tests that run on any
// store.
//
// Run checks rules one by one; a failure prints the broken rule. Differential
// runs the same random commands on a store and on the reference, and requires
// equal visible states after each command. A failure prints the shortest script
// that still diverges. CheckInvariants audits a store at rest. Other tests use
// it too, for example after a crash.
//
// Time is an argument throughout: no decision reads a clock, so a failing case
// fails again.
package storetest
