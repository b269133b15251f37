package usage

import (
	"os/exec"
	"strings"
	"testing"
)

// hostile has words that a shell could expand, split or execute.
var hostile = []string{
	"", "plain", "a b", "it's", `back\slash`, `\`, `\'; echo injected; #`, `'; echo injected; '`, `\\'`, "$(echo injected)",
	"`echo injected`", "$HOME", "~", "*", "{a,b}", "%self", "=ls", "!!", "#", `"`, "&", "日本", "a=b", "^x^y",
}

func TestAllShellsReadAPrintedWordAlike(t *testing.T) {
	line := "printf '[%s]'"
	for _, word := range hostile {
		line += " " + ShellWord(word)
	}
	want := "[" + strings.Join(hostile, "][") + "]"
	for shell, flags := range map[string][]string{"sh": nil, "dash": nil, "bash": {"--norc"}, "zsh": {"-f"}, "fish": {"--no-config"}} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip("there is no " + shell)
			}
			if got, err := exec.Command(path, append(flags, "-c", line)...).CombinedOutput(); err != nil || string(got) != want {
				t.Errorf("%s\n got %s, %v\nwant %s", line, got, err, want)
			}
		})
	}
}

func TestAPrintedWordIsNoFlagAndHasNoControlCharacter(t *testing.T) {
	for word, want := range map[string]string{"-rf": "./-rf", "-r f": "'./-r f'", "/etc/foliot/key.pem": "/etc/foliot/key.pem", "a\nb": "…", "\x1b[2J": "…", "\u0085": "…"} {
		if got := ShellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
