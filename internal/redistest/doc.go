// Package redistest starts real Redis servers on loopback for tests, and a
// proxy that breaks connections to them in a chosen way.
//
// Nothing here imitates Redis. Servers keep an append-only file in a directory
// of their own, so that they can be killed and started again. What New… starts
// ends with its test, what Start… starts its caller ends; servers end also, on
// Linux, where the program that started them is killed.
package redistest
