package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/redistest"
)

func TestTheDemoLosesNothingAndLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes twenty seconds")
	}
	for name, args := range map[string][]string{"directory": nil, "Redis": {"--store", "redis://" + redistest.New(t).Addr}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			command := foliotCommand(t, append([]string{"demo", "--timers", "1000", "--over", "10s"}, args...)...)
			command.Env = append(command.Env, "TMPDIR="+dir)
			out, err := command.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "1,000 created · 100 cancelled, 0 sent · 100 moved · lost 0 · early 0 · ") {
				t.Errorf("%v:\n%s", err, out)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v are left, %v", left, err)
			}
		})
	}
}
