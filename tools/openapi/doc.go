// Package openapi reads the OpenAPI document of the API, and writes its schemas
// as types of TypeScript and Python.
package openapi
