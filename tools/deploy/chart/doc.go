// Package chart tests the Helm chart in deploy/helm. It runs the linter of
// Helm, decodes the objects as the types of Kubernetes, and runs the server as
// a cluster would run it. `make deploy-test` runs the tests.
package chart
