// Package flags has the flags that several commands share, and parses the
// values of flags and arguments. Its errors name the flag and the accepted
// values.
package flags
