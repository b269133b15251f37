// Package tracing exports spans of the server's work to an OpenTelemetry
// collector.
//
// A request to the API is a span of the caller's trace. Each attempt to deliver
// a task is the root of a new trace, which the receiver continues, with a link
// to the span that created the task. One trace for both would be useless in any
// viewer, because it would begin with a click and end with a retry three days
// later.
//
// The decision to keep a trace is made once, so a task is traced from its
// creation to its end, or not at all. A request follows its caller's decision,
// and an attempt that of the span that created its task. If there is no earlier
// span, the ratio decides.
//
// These values leave the process: names, ids and numbers of tasks, host and
// port of their destinations, statuses and errors. URLs, headers and bodies do
// not.
//
// Spans wait in a queue of fixed length, so a slow or absent collector costs
// spans, which are counted, but no delivery and no memory.
package tracing
