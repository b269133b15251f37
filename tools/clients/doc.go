// Command clients generates parts of the client packages: the types, from the
// OpenAPI document, and the version, from the changelog. It writes the same
// version into the Helm chart.
package main
