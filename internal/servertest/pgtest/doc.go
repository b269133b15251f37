// Package pgtest starts private PostgreSQL servers for tests.
//
// Each server has a directory of its own for its socket and its data, and no
// TCP port unless the test asks for one. Servers of New end with their test,
// and the server of Shared ends with the tests of the package, but the caller
// must close those of Start. On Linux, servers also end if the program that
// started them is killed, but then their directories stay.
package pgtest
