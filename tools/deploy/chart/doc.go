// Package chart tests the Helm chart in deploy/helm: the linter of Helm, the
// types of Kubernetes, and the server itself, which runs as a cluster would run
// it. `make deploy-test` runs the tests.
package chart
