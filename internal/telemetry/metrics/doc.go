// Package metrics counts what the server does and tells Prometheus.
//
// It is told by plain functions (Attempt, Request, Sync, …), which the parts
// take as fields of their Config, and asks what it is not told (Sources) while
// a scrape is under way. No part imports it.
//
// How many series there are does not depend on what clients send. A queue
// has series of its own if an operator has decided something about it, or if it is the
// default queue of a namespace that exists, up to Config.MaxQueues. All
// others are counted together: under their namespace with the queue "_other", which
// no queue can be called, or under "_other" altogether.
package metrics
