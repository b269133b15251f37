package servertest

import (
	"testing"
	"time"
)

// Patience bounds every wait for another process; it is never reached
// unless something is broken.
const Patience = 30 * time.Second

// Eventually looks until something holds.
func Eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
