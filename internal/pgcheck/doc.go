// Package pgcheck judges a PostgreSQL that keeps tasks, for foliot doctor.
package pgcheck
