package cli

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/server/httpserver"
)

// The unit must have a valid command line. It must not
// kill the server before the grace of the attempts has ended.
func TestTheUnitLeavesTimeForTheGrace(t *testing.T) {
	text, err := os.ReadFile("../../packaging/foliot.service")
	fatal.If(t, err)
	value := func(key string) string {
		t.Helper()
		m := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindStringSubmatch(string(text))
		if m == nil {
			t.Fatalf("the unit has no %s", key)
		}
		return m[1]
	}
	var flags cli
	words := strings.Fields(value("ExecStart"))
	config := slices.Index(words, "--config")
	if config < 0 {
		t.Fatal("the unit names no configuration")
	}
	words = slices.Delete(words, config, config+2) // that file does not exist here
	parsed, err := quietParser(&flags).Parse(words[1:])
	if err != nil || parsed.Command() != "serve" {
		t.Fatalf("%v: %v", words, err)
	}
	seconds, err := strconv.Atoi(value("TimeoutStopSec"))
	if stop := time.Duration(seconds) * time.Second; err != nil || stop < flags.Serve.Grace+2*httpserver.DrainTimeout {
		t.Errorf("TimeoutStopSec is %v; attempts have %v, replies %v", stop, flags.Serve.Grace, httpserver.DrainTimeout)
	}
	if prevented, _ := strconv.Atoi(value("RestartPreventExitStatus")); prevented != exit.Usage || value("Type") != "exec" {
		t.Errorf("exit code %d, type %s", prevented, value("Type"))
	}
}
