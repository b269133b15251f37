// Package redis keeps tasks in a Redis or Valkey, for many nodes.
package redis
