// Package scale has the scenarios that measure one server with a data directory
// under many tasks, many schedules or hosts that hang.
package scale
