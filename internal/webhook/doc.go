// Package webhook makes one attempt to deliver a task: it sends the request
// through the egress guard, reads a bounded part of the reply, and judges the
// reply.
//
// An attempt is a function from a delivery to an outcome. The dispatcher
// decides when it starts, how often it is repeated, and the stored part of it.
//
// Only this package keeps three promises:
//
//   - Nothing is sent to an address that the guard denies. The guard decides
//     about each connection when it is dialled, by the dialled address.
//   - Nothing is sent after the lease is lost. The lease is checked when the
//     connection is ready, just before the first byte of the request.
//   - An attempt is at most one request. net/http repeats some requests by
//     itself if a connection breaks; here it cannot.
package webhook
