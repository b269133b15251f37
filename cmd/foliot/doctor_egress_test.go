package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// egress runs doctor egress with args as a command of its own.
func egress(t *testing.T, asJSON bool, args ...string) (code int, out, errs string) {
	t.Helper()
	var c doctorEgressCmd
	var stdout, stderr strings.Builder
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Fatal(err)
	}
	err = c.Run(t.Context(), newConsole(strings.NewReader(""), &stdout, &stderr, asJSON))
	if err != nil {
		errs = oneLine(err)
	}
	return exitCode(err), stdout.String(), errs
}

func TestDoctorEgressExplainsAVerdict(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		out  string
		errs string
	}{
		{"http://93.184.216.34/", exitOK, "93.184.216.34\topen\ta public address\n", ""},
		{"https://10.1.2.3/x", exitDenied, "10.1.2.3\tdenied\ta private address; --egress-allow 10.1.2.3/32 opens it\n", "egress_denied"},
		{"http://10.1.2.3/ --egress-allow 10.0.0.0/8", exitOK, "10.1.2.3\topen\ta private address, in 10.0.0.0/8, which the configuration opens\n", ""},
		{"http://10.1.2.3/ --egress-allow 10.0.0.0/8 --egress-deny 10.1.0.0/16", exitDenied, "--egress-deny 10.1.0.0/16 closes it\n", "egress_denied"},
		{"http://127.0.0.1:9000/", exitDenied, "a loopback address; --egress-allow 127.0.0.1/32 opens it", "egress_denied"},
		{"http://127.0.0.1:9000/ --open-loopback", exitOK, "127.0.0.1\topen\ta loopback address", ""},
		{"http://127.0.0.1:8750/ --open-loopback", exitDenied, "this server itself", "egress_denied"},
		{"http://127.0.0.1:8751/ --open-loopback --listen 0.0.0.0:8751", exitDenied, "this server itself", "egress_denied"},
		{"http://169.254.169.254/ --egress-allow 0.0.0.0/0", exitDenied, "a cloud metadata address, which --egress-allow does not open", "egress_denied"},
		{"ftp://shop.test/", exitUsage, "", "URL: a URL begins with http:// or https://"},
		{"http://10.1.2.3/ --egress-deny private", exitUsage, "", "--egress-deny: \"private\" is no CIDR"},
		{"http://10.1.2.3/ --egress-allow 10.0.0.0/33", exitUsage, "", "--egress-allow"},
		{"http://10.1.2.3/ --listen nonsense", exitUsage, "", "--listen"},
	} {
		code, out, errs := egress(t, false, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || (errs == "") != (c.errs == "") {
			t.Errorf("%s: exit %d, %q, %q", c.args, code, out, errs)
		}
	}
}

func TestDoctorEgressPrintsObjects(t *testing.T) {
	code, out, _ := egress(t, true, "http://[::ffff:10.1.2.3]:9000/", "--egress-allow", "10.0.0.0/8")
	var got egressReply
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if code != exitOK || !got.Open || got.Port != 9000 || len(got.Addresses) != 1 || got.Addresses[0].Address != "10.1.2.3" || got.Addresses[0].Opener != "10.0.0.0/8" {
		t.Errorf("exit %d, %+v", code, got)
	}
	code, out, errs := egress(t, true, "http://10.1.2.3:9000/")
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if code != exitDenied || errs == "" || got.Open || got.Addresses[0].Opener != "10.1.2.3/32" || got.Addresses[0].Open {
		t.Errorf("exit %d, %+v, %q", code, got, errs)
	}
}

func TestDoctorEgressReadsTheServersEnvironment(t *testing.T) {
	t.Setenv("FOLIOT_EGRESS_ALLOW", "10.0.0.0/8,192.168.0.0/16")
	t.Setenv("FOLIOT_EGRESS_DENY", "10.1.0.0/16")
	for url, want := range map[string]int{"http://192.168.7.7/": exitOK, "http://10.2.0.1/": exitOK, "http://10.1.0.1/": exitDenied} {
		if code, out, _ := egress(t, false, url); code != want {
			t.Errorf("%s: exit %d, %q", url, code, out)
		}
	}
}
