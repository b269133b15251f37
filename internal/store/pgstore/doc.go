// Package pgstore keeps tasks in PostgreSQL 14 or newer, for many nodes.
package pgstore
