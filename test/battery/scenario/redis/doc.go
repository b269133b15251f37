// Package redis has the scenarios of several nodes on a Redis: nodes that die,
// stop or restart, a Redis with faults, a Redis that loses its data, and
// failovers.
//
//	node_kill.go, blackout.go,      nodes that die, stop or are restarted
//	zombie.go, deploy.go, ticks.go
//	redis_kill.go, slots.go,        a Redis with faults: faults.go runs all but full.go
//	mute.go, cut.go, full.go
//	lost_store.go, loss_node.go     a Redis that loses its data; answers.go polls the nodes
//	failover.go                     masters that are replaced, by Sentinels
//	                                (failover_sentinel.go) or in a Cluster (failover_cluster.go)
package redis
