// Package webhook makes one attempt to deliver a task: it sends the request
// through the egress guard, reads a bounded part of the reply, and judges the
// reply.
//
// An attempt is a function from a delivery to an outcome. The dispatcher
// decides when an attempt starts, whether another one follows, and which parts
// of it are stored.
//
// Only this package keeps three promises:
//
//   - Nothing is sent to an address that the guard denies. The guard checks the
//     address of each connection when it is dialled.
//   - Nothing is sent after the lease is lost. The lease is checked when the
//     connection is ready, just before the first byte of the request.
//   - An attempt is at most one request. net/http would repeat some requests by
//     itself after a connection breaks. The package prevents this.
package webhook
