// Package service is a node with everything that `foliot serve` adds: the API, the
// sender of requests, metrics and traces. It opens no listener and reads no
// flags: internal/server does.
package service
