// Package webhook makes one attempt to deliver a task: it sends the request
// through the egress guard, reads a bounded part of the reply, and judges it.
//
// An attempt is a function from a delivery to an outcome. When it starts, how
// often it is repeated and what is stored of it are the dispatcher's matter.
//
// Three promises are kept here and nowhere else:
//
//   - Nothing is sent to an address the guard denies. The decision falls when a
//     connection is dialled, on the address that is being dialled.
//   - Nothing is sent once the lease is lost: it is checked when the connection
//     is ready and the next thing to happen is the first byte of the request.
//   - An attempt is at most one request. net/http repeats some requests by
//     itself on connections that break; here it cannot.
package webhook
