// Command battery drives the foliot binary from outside and counts what was
// lost, early, doubled or late.
//
// Three logs are its evidence, and none of them is the server's: what the
// client was promised (synced after each 2xx), what the receiver got (synced
// before its 2xx), and the faults that were inflicted. A pure function, check,
// turns them into a verdict; its tests show that it catches what it is for.
//
//	go run ./internal/battery --help
//	go run ./internal/battery steady kill
package main
