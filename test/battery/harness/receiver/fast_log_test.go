package receiver

import (
	"strings"
	"testing"
)

func TestTheVerdictReportsALogThatIsDamaged(t *testing.T) {
	for _, line := range []string{"a-0 id", "a-0 id soon", "a-0  id 5"} {
		if _, err := parseDelivery([]byte(line)); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("the line %q: %v", line, err)
		}
	}
	for _, err := range ReadDeliveries("there is no such file") {
		if err == nil {
			t.Error("a log that is not there was read")
		}
	}
}
