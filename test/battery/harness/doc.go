// Package harness starts the parts of a scenario: servers, nodes on Redis,
// receivers and clients, with their logs. It also makes the load.
//
// A Run is one run of a scenario and prints its report. An Environment is a
// server, a receiver and a client. Nodes are several servers on one Redis.
package harness
