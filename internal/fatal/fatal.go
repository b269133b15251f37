// Package fatal ends a test at an error that it does not expect.
package fatal

// test is the part of testing.TB that tests of package rapid have too.
type test interface {
	Helper()
	Fatal(args ...any)
}

// If ends the test if there is an error.
func If(t test, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
