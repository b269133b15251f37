// Package quick keeps expensive tests out of make test.
package quick

import "testing"

// Leave skips a test in its short form without the race detector, the form that
// make test runs. make check runs all tests with the race detector.
func Leave(t testing.TB, why string) {
	t.Helper()
	if testing.Short() && !race {
		t.Skip("make check runs it: it " + why)
	}
}
