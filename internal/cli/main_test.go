package cli

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// asBinary makes the test binary run Main. So tests of processes run the real
// program, compiled once and with the race detector.
const asBinary = "FOLIOT_TEST_AS_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(asBinary) != "" {
		os.Exit(Main())
	}
	debug.SetGCPercent(800)                // each command line builds the model of all commands: a third of the time was garbage collection
	for _, setting := range os.Environ() { // settings of the developer
		if name, _, _ := strings.Cut(setting, "="); strings.HasPrefix(name, "FOLIOT_") {
			_ = os.Unsetenv(name)
		}
	}
	dir, err := os.MkdirTemp("", "foliot")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("XDG_CONFIG_HOME", dir) // contexts of the developer
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}
