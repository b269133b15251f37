// Package redischeck judges an examination of a Redis by the settings of a
// server. The doctor prints the findings, and the API returns them.
package redischeck
