package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/wire"
)

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
		{"http://169.254.169.254/", exit.Denied, "a cloud metadata address, which --egress-allow does not open", "egress_denied"},
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
	t.Setenv("FOLIOT_TOKEN", "")
	if _, errs, code := p.foliot("doctor", "egress", "http://10.1.2.3/"); code != exit.Failure || !strings.Contains(errs, "token") {
		t.Errorf("without a token: exit %d, %q", code, errs)
	}
}
