package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/cli/exit"
)

func TestAnUnknownVariableIsRefusedWithTheNearestOne(t *testing.T) {
	root := theModel().Node
	for setting, says := range map[string]string{
		"FOLIOT_LISEN=:1":             "FOLIOT_LISEN: unknown variable: unset it; did you mean FOLIOT_LISTEN?",
		"FOLIOT_KEEPFINISHED=1h":      "did you mean FOLIOT_KEEP_FINISHED?",
		"FOLIOT_SERVER_URL=http://a/": "FOLIOT_SERVER_URL: unknown variable: unset it",
		"FOLIOT_PORT=8750":            "FOLIOT_PORT: unknown variable: unset it",
		"FOLIOT_=":                    "FOLIOT_: unknown variable: unset it",
		"FOLIOT_LISTEN=:1":            "",
		"FOLIOT_TOKEN_FILE=":          "",
		"FOLIOTX=1":                   "",
		"HOME=/root":                  "",
		// Kubernetes sets these variables for services.
		"FOLIOT_SERVICE_HOST=10.0.0.1":                "",
		"FOLIOT_SERVICE_PORT_HTTP=8750":               "",
		"FOLIOT_PORT=tcp://10.0.0.1:8750":             "",
		"FOLIOT_PORT_8750_TCP_ADDR=10.0.0.1":          "",
		"FOLIOT_REDIS_PORT_6379_TCP=tcp://10.0.0.1:1": "",
		"FOLIOT_REDIS_SERVICE_PORT=6379":              "",
	} {
		err := checkEnvironment(root, []string{setting})
		if (err == nil) != (says == "") || err != nil && (!strings.Contains(err.Error(), says) || exit.CodeOf(err) != exit.Usage) {
			t.Errorf("%s: %v, want %q", setting, err, says)
		}
	}
	t.Setenv("FOLIOT_LOGLEVEL", "debug")
	s := newSession(t)
	for _, line := range []string{"ls", "config", "token generate"} {
		wants(t, exit.Usage, "did you mean FOLIOT_LOG_LEVEL?")(s.run("", s.words(line)...))
	}
	wants(t, exit.OK)(s.run("", "complete", "--", "l"))
}

func TestAnEmptyNameOnTheCommandLineIsRefused(t *testing.T) {
	s := newSession(t)
	s.addThree()
	for line, flag := range map[string]string{
		"add http://127.0.0.1:9/ --in 1h --name ''":  "--name",
		"add http://127.0.0.1:9/ --in 1h --queue ''": "--queue",
		"ls --queue ''": "--queue",
		"cancel --state scheduled --queue= --yes":               "--queue",
		"cancel --state scheduled --schedule= --yes":            "--schedule",
		"cancel --state scheduled --due-before= --yes":          "--due-before",
		"cancel --all --yes --namespace ''":                     "--namespace",
		"cancel --due-after -1h --reason= --yes":                "--reason",
		"export --queue ''":                                     "--queue",
		"cron add n @daily http://127.0.0.1:9/ --queue ''":      "--queue",
		"token create --scope write --for ''":                   "--for",
		"queue set '' --rate 5":                                 "name",
		"get ''":                                                "NAME",
		"cancel ''":                                             "NAME",
		"cron add '' @daily http://127.0.0.1:9/":                "NAME",
		"cron import - --prefix ''":                             "--prefix",
		"add http://127.0.0.1:9/ --in '' --name x --queue mail": "--in",
	} {
		wants(t, exit.Usage, flag+": ")(s.run("", s.words(line)...))
	}
	if got := s.must("", "ls --state scheduled"); strings.Count(got, "\n") != 3 {
		t.Errorf("left are\n%s", got)
	}
}

func TestATimeThatAMessageRecommendsIsInTheFuture(t *testing.T) {
	s := newSession(t)
	s.addThree()
	example := regexp.MustCompile(`20\d\d-\d\d-\d\dT[0-9:.]+(Z|\+\d\d:\d\d)`)
	for _, line := range []string{"move a", "move a --at tomorrow", "ls --due-before tomorrow", "move --help"} {
		stdout, stderr, _ := s.run("", s.words(line)...)
		times := example.FindAllString(stdout+stderr, -1)
		if len(times) == 0 {
			t.Errorf("foliot %s names no time: %q", line, stdout+stderr)
		}
		for _, text := range times {
			if at, err := time.Parse(time.RFC3339Nano, text); err != nil || at.Year() < 2030 {
				t.Errorf("foliot %s recommends %s", line, text)
			}
		}
	}
}

func TestATimeThatIsLongPastIsRefusedWithARemedy(t *testing.T) {
	s := newSession(t)
	s.addThree()
	ago := func(d time.Duration) string { return time.Now().Add(-d).UTC().Format(time.RFC3339) }
	for _, line := range []string{"add http://127.0.0.1:9/ --at ", "move a --at "} {
		_, stderr, code := s.run("", s.words(line+ago(2*time.Minute))...)
		if code != exit.Usage || !strings.Contains(stderr, "--at: ") || !strings.Contains(stderr, "--in 0s") {
			t.Errorf("%s: it ended with %d and printed %q", line, code, stderr)
		}
		s.must("", line+ago(30*time.Second)) // clocks differ, and typing takes time
	}
}
