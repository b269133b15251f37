// Package generators tests that generators of clients accept the OpenAPI
// document: ogen, oapi-codegen and openapi-typescript. It compiles their code.
// `make generators-test` runs it.
package generators
