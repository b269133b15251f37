// Package original is the design from which Foliot's store in Redis grew, as the
// first articles about it had it, in its smallest form: a sorted set for each
// minute, and on every node a scanner that takes the tasks of each second from
// it, and then calls their URLs.
//
// It loses tasks, calls early, and calls what was cancelled. It is here to be
// seen failing: its tests show each of its faults beside what redisstore does
// in the same place, docs/original.md lists them, and bench/redis measures
// it. Nothing that is shipped uses it.
package original
