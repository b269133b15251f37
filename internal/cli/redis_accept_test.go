package cli

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/redistest"
)

func TestALossIsAcceptedByACommandAndByNothingElse(t *testing.T) {
	r, s := redistest.New(t), newSession(t)
	url := "redis://" + r.Addr
	accept := func(want int, part string, args ...string) {
		t.Helper()
		stdout, stderr, code := s.runBare(append([]string{"redis", "accept-loss", url}, args...)...)
		if code != want || !strings.Contains(stdout+stderr, part) {
			t.Errorf("accept-loss %v: %d, without %q:\n%s%s", args, code, part, stdout, stderr)
		}
	}
	accept(exit.OK, "no loss to accept")
	if keys, err := redistest.Command(t.Context(), r.Addr, "DBSIZE"); keys != ":0" {
		t.Error("it has left something there:", keys, err)
	}
	redisNode(t, url, "--shards", "16")
	accept(exit.OK, "is complete")
	if _, err := redistest.Command(t.Context(), r.Addr, "DEL", "foliot:meta"); err != nil {
		t.Fatal(err)
	}
	stdout, _, code := s.runBare("doctor", "redis", url)
	if code != exit.Failure || !strings.Contains(stdout, "BAD  identity") || !strings.Contains(stdout, "foliot redis accept-loss") {
		t.Errorf("doctor: %d\n%s", code, stdout)
	}
	accept(exit.Usage, "--yes")
	accept(exit.OK, "restart every server", "--yes")
	stdout, _, code = s.runBare("doctor", "redis", url)
	if code != exit.OK || !strings.Contains(stdout, "ok   identity") || !strings.Contains(stdout, "16 shards") {
		t.Errorf("doctor: %d\n%s", code, stdout)
	}
	accept(exit.OK, "is complete", "-o", "text")
}
