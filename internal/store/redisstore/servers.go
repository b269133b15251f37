package redisstore

import "github.com/foliot/foliot/internal/store/redisstore/redisconn"

// Durability, Examined and Replica are declared by package redisconn. Who opens or examines
// a store needs no other import.
type (
	Durability = redisconn.Durability
	Examined   = redisconn.Examined
	Replica    = redisconn.Replica
)

// The levels of durability.
const (
	Async   = redisconn.Async
	Default = redisconn.Default
	Strict  = redisconn.Strict
)

// Open returns these errors if a server cannot be used.
var (
	ErrUnfit    = redisconn.ErrUnfit
	ErrCluster  = redisconn.ErrCluster
	ErrSentinel = redisconn.ErrSentinel
)
