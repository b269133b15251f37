// Command clients writes the parts of the client packages that follow from the
// repository: the types of the OpenAPI document, and the version, which the Helm
// chart has too.
package main
