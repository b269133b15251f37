package redisstore

import (
	"github.com/foliot/foliot/internal/store/redisstore/identity"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

// These types belong to packages below. The aliases let a caller that opens or
// examines a store import only this package.
type (
	Durability = redisconn.Durability
	Examined   = redisconn.Examined
	Replica    = redisconn.Replica
	Found      = identity.Found
	Layout     = identity.Layout
)

// The levels of durability.
const (
	Async   = redisconn.Async
	Default = redisconn.Default
	Strict  = redisconn.Strict
)

// Open returns these errors if a server cannot be used.
var (
	ErrDiffers  = identity.ErrDiffers
	ErrUnfit    = redisconn.ErrUnfit
	ErrCluster  = redisconn.ErrCluster
	ErrSentinel = redisconn.ErrSentinel
)
