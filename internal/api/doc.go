// Package api is the HTTP API of the service, version 1. It decodes requests
// strictly, calls the store, and replies in JSON. It keeps no state except
// limits, samples and waiting requests, and reads the clock once in a request.
//
// routes*.go list the routes with their descriptions for OpenAPI, and
// problem.go maps the errors that handlers return to HTTP.
package api
