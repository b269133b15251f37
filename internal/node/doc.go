// Package node connects a store, the dispatcher and the maintenance to one
// node, for `foliot serve` and for package foliot. It knows neither the API nor
// who runs the tasks.
package node
