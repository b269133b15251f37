// Package wording formats values for the command line: times, ages, sizes, and
// untrusted text without control characters.
package wording
