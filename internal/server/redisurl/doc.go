// Package redisurl parses the URL of a Redis or Valkey into its servers and the
// options of a client. If the servers cannot be used, it gives advice that fits
// the reason.
package redisurl
