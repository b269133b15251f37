// Package servertest has helpers for tests of servers: certificates, a log on
// which a test can wait, a receiver that delays its replies, and a node for the
// API.
package servertest

import (
	"testing"
	"time"
)

// Patience bounds each wait for another process, so a test that reaches it has
// failed.
const Patience = time.Minute

// Eventually calls holds until it returns true, and fails the test after
// Patience, with condition as the message.
func Eventually(t *testing.T, condition string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", condition)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
