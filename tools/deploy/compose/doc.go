// Package compose tests the Compose files in deploy/compose: it loads them as
// Docker Compose does, and runs their servers, their Redis and their Prometheus
// without Docker. `make deploy-test` runs the tests.
package compose
