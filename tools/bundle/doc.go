// Command bundle builds the web page of internal/page. It generates the types
// and the calls of the API from the OpenAPI document, and bundles the
// TypeScript with esbuild. The output is committed, so a build of the server
// needs only Go.
package main
