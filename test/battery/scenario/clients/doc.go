// Package clients has the scenarios of the Go client, which sends concurrent calls
// together: its speed with and without that, and kill -9 of the server under
// such calls.
package clients
