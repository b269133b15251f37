// Package usage has the error for an invalid flag, variable or argument, which
// all packages can return; the command line then exits with the code for
// invalid input.
package usage
