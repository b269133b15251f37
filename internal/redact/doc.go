// Package redact keeps secrets out of logs and messages: access tokens, signing
// secrets, passwords in URLs.
package redact
