// Package redischeck checks the examination of a Redis against the settings of
// a server. The doctor prints the findings, and the API returns them.
package redischeck
