// Package service is a node with the parts that `foliot serve` adds: the API,
// the sender of requests, metrics and traces. It opens no listener and reads no
// flags: package internal/server does both.
package service
