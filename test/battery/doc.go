// Command battery drives the foliot binary from outside and counts what was
// lost, early, doubled or late.
//
// Three logs are its evidence, and none of them is the server's: what the
// client was promised (synced after each 2xx), what the receiver got (synced
// before its 2xx), and the faults that were inflicted. A pure function, check,
// turns them into a verdict; its tests show that it catches what it is for.
//
// Where the load is millions of tasks the receiver is a sink, in a process of
// its own, whose log is on the disk at its end, and tally judges by number.
// Memory and processor time are what the system tells of the processes.
//
// Schedules (ticks.go, schedules.go) promise one task for each instant: the names of
// tasks say of which schedule and instant they are, so the same logs tell.
//
// A disk that is full (full_disk.go) ends the server in the middle of a change. So its log has
// each request with its answer, and each task's record at the end; full_disk_verdict.go judges them.
//
// Attacks on a server next to a victim (tenants.go, attacks.go) run in a process of their own
// (attacker.go), against a server in a memory cgroup (siege.go); tenants_row.go judges them.
//
// The scenarios on Redis start it by themselves, beside several nodes (nodes.go):
// each has a door (doors.go), and what loads them goes from door to door, as a
// balancer would. These files are theirs:
//
//	deaths.go, blackout.go,   nodes that die, sleep or are restarted;
//	zombie.go, deploy.go      delays.go judges how late that made tasks
//	ticks.go                  schedules of nodes that die
//	balance.go                who delivers how much: socket_linux.go asks the system
//	rediskill.go, slots.go,   a Redis with faults: underfaults.go is the frame of all but full.go
//	deaf.go, cut.go, full.go
//	lost.go, lost_store.go    a Redis that is emptied, or otherwise lost, under its servers;
//	                          answers.go asks them all the while
//	failover.go               masters that lose their place: failover_sentinel.go and
//	                          failover_cluster.go see to that, losses.go judges
//
//	go run ./test/battery --help
//	go run ./test/battery steady kill
//	go run ./test/battery -full crowd second overdue
//	go run ./test/battery redis
//	go run ./test/battery -attack lists,window tenants tenants-redis
package main
