// Package node connects a store, the dispatcher and the maintenance to one
// node, for `foliot serve` and for package foliot. It depends neither on the
// API nor on the code that runs tasks.
package node
