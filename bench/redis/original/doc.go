// Package original is the design from which Foliot's store in Redis grew. It
// behaves like the article's program, in code of its own. It has a sorted set
// for each minute. Once a second, a scanner on every node takes tasks from it,
// and calls their URLs.
//
// It loses tasks, calls early, and calls cancelled tasks: see
// docs/redis-original-design.md. bench/redis measures it. No shipped code uses it.
package original
