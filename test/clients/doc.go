// Package clients tests the client packages as a user gets them. It builds the
// packages, installs them from the files, and uses them with the real server.
// `make clients-test` runs it.
package clients
