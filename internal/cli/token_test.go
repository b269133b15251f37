package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
)

// To revoke the last token that can manage the server takes a confirmation.
func TestTheLastAdminTokenIsRevokedOnlyWithConfirmation(t *testing.T) {
	s := newSession(t)
	operator := func() (id string) {
		t.Helper()
		var made struct{ ID, Token string }
		out, stderr, code := s.run("", "token", "create", "--for", "operator", "--scope", "admin", "-o", "json")
		if err := json.Unmarshal([]byte(out), &made); err != nil {
			t.Fatalf("%d: %v: %s", code, err, stderr)
		}
		t.Setenv("FOLIOT_TOKEN", made.Token)
		return made.ID
	}
	first := operator()
	_, stderr, code := s.run("", "token", "revoke", first)
	if code != exit.Usage || !strings.Contains(stderr, "--yes") || !strings.Contains(stderr, "token create --data") || !strings.Contains(stderr, first) {
		t.Fatalf("the last one: %d: %s", code, stderr)
	}
	second := operator()
	if out, stderr, code := s.run("", "token", "revoke", first); code != exit.OK || out != "revoked "+first+"\n" {
		t.Fatalf("one of two: %d: %s", code, stderr)
	}
	if out, stderr, code := s.run("", "token", "revoke", second, "--yes"); code != exit.OK || out != "revoked "+second+"\n" {
		t.Fatalf("the last one, with --yes: %d: %s", code, stderr)
	}
	if _, stderr, code := s.run("", "token", "ls"); code != exit.Failure || !strings.Contains(stderr, "revoked") {
		t.Errorf("it still opens: %d: %s", code, stderr)
	}
}

func TestWhoamiShowsTheTokenAndTheServer(t *testing.T) {
	s := newSession(t)
	if out, stderr, code := s.run("", "whoami"); code != exit.OK || !strings.Contains(out, "token\tnone: the server has no tokens\n") || !strings.Contains(out, "durability\tmemory\n") || !strings.Contains(out, "clock ahead\t") {
		t.Fatalf("without tokens: %d: %s%s", code, out, stderr)
	}
	token, stderr, code := s.run("", "token", "create", "--for", "operator", "--scope", "admin", "--label", "me")
	if code != exit.OK {
		t.Fatal(stderr)
	}
	t.Setenv("FOLIOT_TOKEN", strings.TrimSpace(token))
	out, stderr, code := s.run("", "whoami")
	for _, row := range []string{"namespace\tdefault\n", "scope\tadmin\n", "operator\tyes\n", "label\tme\n", "expires\tnever\n", "store\tembedded\n"} {
		if code != exit.OK || !strings.Contains(out, row) {
			t.Errorf("no row %q: %d: %s%s", row, code, out, stderr)
		}
	}
}
