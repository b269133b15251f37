// Package api is the service's HTTP API, version 1: it decodes strictly, asks
// the domain, and answers in JSON. It keeps no state but the long polls that
// wait, and reads the clock once a request.
//
// The routes stand in routes.go, each with its description for OpenAPI beside
// it. Handlers return errors; problem.go alone says what they are in HTTP.
package api
