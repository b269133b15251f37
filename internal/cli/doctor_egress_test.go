package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/wire"
)

// egress runs foliot doctor egress with args and without a server.
func egress(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	out, errs, code = (&session{t: t}).runBare(append([]string{"doctor", "egress", "--offline"}, args...)...)
	return code, out, errs
}

func TestDoctorEgressExplainsAVerdict(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		out  string
		errs string
	}{
		{"http://93.184.216.34/", exit.OK, "93.184.216.34\topen\ta public address\n", ""},
		{"https://10.1.2.3/x", exit.Denied, "10.1.2.3\tdenied\ta private address; --egress-allow 10.1.2.3/32 opens it\n", "egress_denied"},
		{"http://10.1.2.3/ --egress-allow 10.0.0.0/8", exit.OK, "10.1.2.3\topen\ta private address, in 10.0.0.0/8, which the configuration opens\n", ""},
		{"http://10.1.2.3/ --egress-allow 10.0.0.0/8 --egress-deny 10.1.0.0/16", exit.Denied, "--egress-deny 10.1.0.0/16 closes it\n", "egress_denied"},
		{"http://127.0.0.1:9000/", exit.Denied, "a loopback address; --egress-allow 127.0.0.1/32 opens it", "egress_denied"},
		{"http://127.0.0.1:9000/ --open-loopback", exit.OK, "127.0.0.1\topen\ta loopback address", ""},
		{"http://127.0.0.1:8750/ --open-loopback", exit.Denied, "an address of this server", "egress_denied"},
		{"http://127.0.0.1:9000/ --open-loopback --host foliot.example", exit.Denied, "a loopback address", "egress_denied"},
		{"http://127.0.0.1:8751/ --open-loopback --listen 0.0.0.0:8751", exit.Denied, "an address of this server", "egress_denied"},
		{"http://169.254.169.254/ --egress-allow 0.0.0.0/0", exit.Denied, "a cloud metadata address, which --egress-allow does not open", "egress_denied"},
		{"ftp://shop.test/", exit.Usage, "", "URL: must begin with http:// or https://"},
		{"http://10.1.2.3/ --egress-deny private", exit.Usage, "", "--egress-deny: \"private\" is not a CIDR"},
		{"http://10.1.2.3/ --egress-allow 10.0.0.0/33", exit.Usage, "", "--egress-allow"},
		{"http://10.1.2.3/ --listen nonsense", exit.Usage, "", "--listen"},
	} {
		code, out, errs := egress(t, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || (errs == "") != (c.errs == "") {
			t.Errorf("%s: exit %d, %q, %q", c.args, code, out, errs)
		}
		if strings.Contains(errs, "--egress-allow opens") != strings.Contains(out, "opens it") {
			t.Errorf("%s: %q proposes a remedy that %q excludes, or none", c.args, errs, out)
		}
	}
}

// The settings of the shell that runs the command do not matter.
func TestDoctorEgressGivesTheVerdictOfTheServerItAsks(t *testing.T) {
	dir := t.TempDir()
	token := makeToken(t, dir)
	p := serveHere(t, "--listen", anyPort, "--data", dir, "--egress-allow", "10.0.0.0/8")
	t.Setenv("FOLIOT_TOKEN", token)
	t.Setenv("FOLIOT_EGRESS_ALLOW", "192.168.0.0/16")
	t.Setenv("FOLIOT_EGRESS_DENY", "10.0.0.0/8")
	for _, c := range []struct {
		url  string
		code int
		out  string
		errs string
	}{
		{"http://10.1.2.3/", exit.OK, "10.1.2.3\topen\ta private address, in 10.0.0.0/8, which the configuration opens\n", ""},
		{"http://192.168.7.7/", exit.Denied, "192.168.7.7\tdenied\ta private address; --egress-allow 192.168.7.7/32 opens it\n", "egress_denied"},
		{"http://127.0.0.1:9000/", exit.Denied, "127.0.0.1\tdenied\ta loopback address", "egress_denied"},
		{p.url, exit.Denied, "an address of this server", "egress_denied"},
		{"ftp://shop.test/", exit.Usage, "", "URL: must begin with http:// or https://"},
	} {
		if out, errs, code := p.foliot("doctor", "egress", c.url); code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || (errs == "") != (c.errs == "") {
			t.Errorf("%s: exit %d, %q, %q", c.url, code, out, errs)
		}
	}
	var got wire.Egress
	out, _, code := p.foliot("doctor", "egress", "http://10.1.2.3/", "-o", "json")
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exit.OK || !got.Open || got.Addresses[0].Opener != "10.0.0.0/8" {
		t.Errorf("exit %d, %q: %v", code, out, err)
	}
	// Settings on the command line are checked without a server.
	if out, _, code := p.foliot("doctor", "egress", "http://192.168.7.7/", "--config", ""); code != exit.OK {
		t.Errorf("exit %d, %q", code, out)
	}
	t.Setenv("FOLIOT_TOKEN", "")
	if _, errs, code := p.foliot("doctor", "egress", "http://10.1.2.3/"); code != exit.Failure || !strings.Contains(errs, "token") {
		t.Errorf("without a token: exit %d, %q", code, errs)
	}
	p.kill()
	if _, errs, code := p.foliot("doctor", "egress", "http://10.1.2.3/"); code != exit.Unreachable || !strings.Contains(errs, "--offline") {
		t.Errorf("without a server: exit %d, %q", code, errs)
	}
}

func TestDoctorEgressPrintsObjects(t *testing.T) {
	code, out, _ := egress(t, "-o", "json", "http://[::ffff:10.1.2.3]:9000/", "--egress-allow", "10.0.0.0/8")
	var got wire.Egress
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if code != exit.OK || !got.Open || got.Port != 9000 || len(got.Addresses) != 1 || got.Addresses[0].Address != "10.1.2.3" || got.Addresses[0].Opener != "10.0.0.0/8" {
		t.Errorf("exit %d, %+v", code, got)
	}
	code, out, errs := egress(t, "-o", "json", "http://10.1.2.3:9000/")
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if code != exit.Denied || errs == "" || got.Open || got.Addresses[0].Opener != "10.1.2.3/32" || got.Addresses[0].Open {
		t.Errorf("exit %d, %+v, %q", code, got, errs)
	}
}

func TestDoctorEgressReadsTheServersEnvironment(t *testing.T) {
	t.Setenv("FOLIOT_EGRESS_ALLOW", "10.0.0.0/8,192.168.0.0/16")
	t.Setenv("FOLIOT_EGRESS_DENY", "10.1.0.0/16")
	for url, want := range map[string]int{"http://192.168.7.7/": exit.OK, "http://10.2.0.1/": exit.OK, "http://10.1.0.1/": exit.Denied} {
		if code, out, _ := egress(t, url); code != want {
			t.Errorf("%s: exit %d, %q", url, code, out)
		}
	}
}

// The result is that of a server that starts with the same file.
func TestDoctorEgressReadsTheServersConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "foliot.yaml")
	written := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	judged := func(want int, says string, args ...string) {
		t.Helper()
		if code, out, errs := egress(t, args...); code != want || !strings.Contains(out+errs, says) {
			t.Errorf("%v: exit %d, %s%s", args, code, out, errs)
		}
	}
	written("egress-allow: [10.0.0.0/8]\negress-deny: [10.1.0.0/16]\nlisten: 127.0.0.1:9999\ngrace: 5s\n")
	judged(exit.OK, "open", "http://10.2.0.1/", "--config", file)
	judged(exit.Denied, "10.1.0.0/16 closes it", "http://10.1.0.1/", "--config", file)
	judged(exit.Denied, "an address of this server", "http://127.0.0.1:9999/", "--config", file, "--open-loopback")
	judged(exit.OK, "open", "http://127.0.0.1:9000/", "--config", file, "--open-loopback")

	t.Setenv("FOLIOT_CONFIG", file)
	judged(exit.OK, "open", "http://10.2.0.1/")
	judged(exit.Denied, "denied", "http://10.2.0.1/", "--egress-allow", "192.168.0.0/16")
	for _, wrong := range []string{"grace: -1s\n", "egress-alow: [10.0.0.0/8]\n", "open-loopback: true\n"} {
		written(wrong)
		judged(exit.Usage, "foliot.yaml:1", "http://10.2.0.1/")
		if _, errs, code := (&session{t: t}).runBare("config"); code != exit.Usage {
			t.Errorf("serve takes %q: %s", wrong, errs)
		}
	}
}
