// Package original is the design from which Foliot's store in Redis grew. It
// behaves like the article's program, in code of its own. It has a sorted set
// for each minute. Once a second, a scanner on every node takes tasks from it,
// and calls their URLs.
//
// It loses tasks, calls early, and calls cancelled tasks. It is here to show
// these faults, and a test shows each of them. bench/redis measures the
// design. No shipped code uses it.
package original
