package main

import (
	"io/fs"
	"strings"
	"testing"
)

// The table is that of PostgreSQL: the other users of a file, by its owner.
func TestWhoElseMayUseAFile(t *testing.T) {
	const me, other, root = 1000, 1001, 0
	for _, c := range []struct {
		mode            fs.FileMode
		owner           int
		keep            secrecy
		problem, remedy string
	}{
		{0o600, me, secretFile, "", ""},
		{0o400, me, secretFile, "", ""},
		{0o700, me, secretFile, "", ""},
		{0o640, me, secretFile, "read", "chmod 600 f"},
		{0o604, me, secretFile, "read", "chmod 600 f"},
		{0o620, me, secretFile, "write", "chmod 600 f"},
		{0o602, me, secretFile, "write", "chmod 600 f"},
		{0o640, root, secretFile, "", ""},
		{0o440, root, secretFile, "", ""},
		{0o644, root, secretFile, "read", "chmod 640 f"},
		{0o660, root, secretFile, "write", "chmod 640 f"},
		{0o600, other, secretFile, "owns", "&& chmod 600 f"},
		{0o644, me, unaltered, "", ""},
		{0o644, root, unaltered, "", ""},
		{0o664, me, unaltered, "write", "chmod go-w f"},
		{0o646, root, unaltered, "write", "chmod go-w f"},
		{0o644, other, unaltered, "owns", "chown "},
		{0o700, me, secretDir, "", ""},
		{0o750, me, secretDir, "read", "chmod 700 f"},
		{0o701, me, secretDir, "read", "chmod 700 f"},
		{0o770, me, secretDir, "write", "chmod 700 f"},
		{0o755, root, secretDir, "read", "chmod 700 f"},
		{0o700, other, secretDir, "owns", "chown -R "},
		{fs.ModeSticky | 0o777, me, secretDir, "write", "chmod 700 f"},
	} {
		problem, remedy := access{c.mode, c.owner}.problem("f", me, c.keep)
		if (problem == "") != (c.problem == "") || !strings.Contains(problem, c.problem) || !strings.Contains(remedy, c.remedy) && problem != "" {
			t.Errorf("%v of %d, kind %d: %q, %q", c.mode, c.owner, c.keep, problem, remedy)
		}
		if problem, _ := (access{c.mode, other}).problem("f", root, c.keep); strings.Contains(problem, "owns") {
			t.Errorf("root is asked whose a file is: %s", problem)
		}
	}
}

func TestARemedyCanBePasted(t *testing.T) {
	for path, want := range map[string]string{
		"/etc/foliot/key.pem": "/etc/foliot/key.pem", "a b": "'a b'", "$(x)": "'$(x)'", "it's": `'it'\''s'`, "-rf": "'./-rf'", "": "''",
	} {
		if got := shellWord(path); got != want {
			t.Errorf("%q: %s, want %s", path, got, want)
		}
	}
}
