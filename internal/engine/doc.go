// Package engine connects a store, the dispatcher and the maintenance to one
// node, for `foliot serve` and for package foliot. It knows neither the API nor
// the code that runs tasks.
//
// The wiring of Foliot has two rooms:
//
//	engine                a node: the store, dispatch, and internal/maintenance
//	  medium.go           what a node needs of a store, and gets from it
//	  node.go             Open, Connect, Deliver, Maintain, Close
//	  figures.go          live data, the history and recent attempts, for the API
//	  waits_for.go        why a task does not start, for the API
//	  missing.go          due tasks that this node does not run, for the log
//	  directory, memory,  open one store each, so that a program links only the
//	  redis               stores that it uses
//	server                a node behind its listener: the API, the sender,
//	                      metrics, traces
//	  config              flags, variables and a file become one config.Config,
//	                      which holds the Config of each part whole
//	  httpserver          connections, TLS
//	  redisurl            the URL of a Redis
//
// The API asks a node through the interface api.Engine.
package engine
