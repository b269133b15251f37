// Command battery drives the foliot binary from outside and counts the tasks
// that were lost, early, duplicated or late.
//
// Its evidence is three logs, and the server writes none of them. They have the
// promises to the client (written after each 2xx), the callbacks (written before
// each 2xx of the receiver), and the faults. Pure functions of package verify
// turn the logs into a verdict. The tests of these functions show which errors
// they find.
//
//	verify/              compares the logs
//	harness/             starts servers, nodes, Redis and clients; makes the load
//	harness/receiver/    the servers that callbacks go to
//	harness/journal/     append-only logs on disk
//	harness/system/      processes, and the operating system's figures about them
//	harness/timing/      waits, rates and goroutines
//	scenario/directory/  the promises of a server with a data directory
//	scenario/scale/      many tasks, many schedules, hosts that hang
//	scenario/redis/      several nodes on a Redis
//	scenario/namespaces/ attacks by one namespace or a stranger
//	scenario/life/       the cost of each step of a task's life
//
// If the load is millions of tasks, the receiver is a process of its own. It writes
// its log to the disk at its end, and verify.Numbered judges tasks by number.
//
//	go run ./test/battery --help
//	go run ./test/battery steady kill
//	go run ./test/battery -full crowd second overdue
//	go run ./test/battery redis
//	go run ./test/battery life life-redis
//	go run ./test/battery -attack lists,window namespaces namespaces-redis
package main
