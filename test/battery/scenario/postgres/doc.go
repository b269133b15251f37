// Package postgres has the scenarios of nodes on PostgreSQL: kills, failovers, and
// transactions of users.
package postgres
