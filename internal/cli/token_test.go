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
	wants(t, exit.Failure, "revoked")(s.run("", "token", "ls"))
}

// The command is the recovery of a lost operator's token, so a token of another
// kind must be visible as one.
func TestATokenMadeWithoutAServerIsDescribedAndALostOperatorNamed(t *testing.T) {
	data := t.TempDir()
	create := func(args ...string) string {
		t.Helper()
		_, stderr, code := (&session{t: t}).runBare(append([]string{"token", "create", "--data", data}, args...)...)
		if code != exit.OK {
			t.Fatalf("%v: %d: %s", args, code, stderr)
		}
		return stderr
	}
	const lost = "no valid operator's token of scope admin exists"
	shows(t, create("--for", "operator", "--scope", "admin", "--expires", "1ns"), "an operator's token, scope admin, valid until ")
	shows(t, create(), "a token for the namespace default, scope write, valid until it is revoked", lost, "--for operator --scope admin")
	if notes := create("--for", "operator", "--scope", "admin"); strings.Contains(notes, lost) {
		t.Errorf("it exists again: %s", notes)
	}
}

// The list has the word that creates such a token.
func TestTheListOfTokensCallsAnOperatorOperator(t *testing.T) {
	s := newSession(t)
	token, _, _ := s.run("", "token", "create", "--for", "operator", "--scope", "admin")
	t.Setenv("FOLIOT_TOKEN", strings.TrimSpace(token))
	wants(t, exit.OK, "\toperator\tadmin\t")(s.run("", "token", "ls"))
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
