// Package engine connects a store, the dispatcher and the maintenance to one
// node, for `foliot serve` and for package foliot. It knows neither the API nor
// the code that runs tasks.
//
// Its subpackages directory, memory and redis open one store each, so that a program
// links only the stores that it uses. Package server puts a node behind its
// listener. The API asks a node through the interface api.Engine.
package engine
