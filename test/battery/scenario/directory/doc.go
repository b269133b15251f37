// Package directory has the scenarios that test the promises of one server with
// a data directory.
package directory
