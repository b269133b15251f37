// Package harness starts the parts of a scenario: servers, nodes on Redis,
// receivers and clients, with their logs. It creates the load.
//
// A Run is one run of a scenario and prints its report. An Environment is a
// server, or several nodes on one Redis, with a receiver and a client. Phases
// carry a run from the start of its servers to the verdict.
package harness
