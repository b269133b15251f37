// Package redisurl reads the URL of a Redis or Valkey: the servers, the options
// of a client, and advice for each reason why they cannot be used.
package redisurl
