// Package clients tests the client packages as a user gets them: built to files,
// installed from these files, and used against the real server. `make clients-test`
// runs it.
package clients
