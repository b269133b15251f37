// Package redistest starts real Redis servers on loopback for tests, and a
// proxy that breaks connections to them in a chosen way.
//
// This package imitates no part of Redis. Each server keeps an append-only file
// in its own directory, so a test can kill it and start it again. Servers of
// the New… functions end with their test, but the caller must end those of the
// Start… functions. On Linux, servers also end if the program that started them
// is killed.
package redistest
