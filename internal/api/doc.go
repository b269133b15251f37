// Package api is the HTTP API of the service, version 1. It decodes requests
// strictly, calls the store, and replies in JSON. It keeps no state except
// limits, samples and waiting requests, and reads the clock once in a request.
//
// routes.go lists the routes, and problem.go maps the errors that handlers return
// to HTTP. The tests describe the routes for OpenAPI, and write openapi.json
// and reference.md.
package api
