//go:build race || all

package quick

// All is true if no test is left out.
const All = true
