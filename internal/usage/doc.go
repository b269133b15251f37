// Package usage has the error for a wrong flag, variable or argument. The
// command line exits with the code of bad input for it, from any package.
package usage
