// Package quick keeps expensive tests out of make test.
package quick

import "testing"

// Leave skips a test in its short form, the one that make test runs. With the
// race detector, as in make check, or with the build tag all, it skips none.
func Leave(t testing.TB, why string) {
	t.Helper()
	if testing.Short() && !All {
		t.Skip("make check runs it: it " + why)
	}
}

// Of returns few in the short form that make test runs, otherwise all: the
// number of rounds, or the like.
func Of[N any](all, few N) N {
	if testing.Short() && !All {
		return few
	}
	return all
}
