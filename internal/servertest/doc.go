// Package servertest has helpers for tests of servers: certificates, a log on
// which a test can wait, and a receiver that delays its replies.
package servertest
