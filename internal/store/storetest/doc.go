// Package storetest is the contract of internal/task's Store as tests that run
// on any store.
//
// Run checks rules one by one; a failure prints the rule that was broken.
// Differential drives a store and the reference with the same random commands
// and demands equal visible states after each; a failure prints the shortest
// script that still diverges. CheckInvariants audits a store that is at rest
// and is meant for other tests too, after a crash for example.
//
// Time is an argument throughout: nothing here reads a clock to decide
// anything, and a failing case fails again.
package storetest
