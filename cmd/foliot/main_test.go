package main

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// asBinary makes the test binary behave as foliot: the tests of processes run
// the real main, compiled once and with the race detector.
const asBinary = "FOLIOT_TEST_AS_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(asBinary) != "" {
		main()
		return
	}
	for _, name := range []string{"FOLIOT_SERVER", "FOLIOT_OUTPUT", "FOLIOT_LISTEN", "FOLIOT_DATA", "FOLIOT_STORE", "FOLIOT_VERIFY_SECRET", "FOLIOT_TOKEN", "FOLIOT_TOKEN_FILE", "FOLIOT_NAMESPACE", "FOLIOT_CA_CERT"} {
		_ = os.Unsetenv(name) // the developer's own settings
	}
	goleak.VerifyTestMain(m)
}
