// Package redistest starts real Redis servers on loopback for tests, and a
// proxy that breaks connections to them in a chosen way.
//
// Nothing here imitates Redis. Servers keep an append-only file in a directory
// of their own, so that they can be killed and started again. They end with
// their test, and on Linux also where the test program is killed.
package redistest
