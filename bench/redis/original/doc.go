// Package original is the design from which Foliot's store in Redis grew, in
// its smallest form and as the first articles described it. It has a sorted set
// for each minute. A scanner on every node takes the tasks of each second from
// it, and then calls their URLs.
//
// It loses tasks, calls early, and calls cancelled tasks. It is here to show
// these faults. For each fault, tests show the original failing and redisstore
// passing in the same situation. docs/redis-original-design.md lists the faults,
// and bench/redis measures the design. No shipped code uses it.
package original
