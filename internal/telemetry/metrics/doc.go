// Package metrics counts the work of the server, and exposes the counts to
// Prometheus.
//
// Other parts take its plain functions (Attempt, Request, Sync, …) as fields of
// their Config and call them for each event, so no part imports this package.
// Sources provide further values during a scrape.
//
// The number of series does not depend on the requests of clients. A queue has
// its own series if an operator configured it, or if it is the default queue of
// a namespace that exists, up to Config.MaxQueues. All other queues of a
// namespace share the queue label "_other", which no queue can have as its
// name. Queues of unknown namespaces use "_other" for both labels.
package metrics
