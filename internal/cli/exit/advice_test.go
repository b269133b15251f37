package exit

import (
	"crypto/x509"
	"fmt"
	"strings"
	"testing"

	"github.com/foliot/foliot/client"
)

func TestTheFlagCACertIsAdvisedForServersOfFoliotOnly(t *testing.T) {
	unknown := x509.UnknownAuthorityError{}
	for _, c := range []struct {
		err     error
		advised bool
	}{
		{&client.TransportError{Op: "list", Server: "https://foliot.internal", Err: unknown}, true},
		{fmt.Errorf("--store: Redis at 10.0.0.7:6379: %w; pass the authority's certificate as ca=FILE after a ?", unknown), false},
	} {
		if text := (Words{}).OneLine(c.err); strings.Contains(text, "--ca-cert") != c.advised {
			t.Errorf("%q", text)
		}
	}
}

func TestAnErrorNamesItsOwnRemedy(t *testing.T) {
	noReply := func(err error) error {
		return &client.TransportError{Op: "list", Server: "https://foliot.internal", Err: err}
	}
	leaf := &x509.Certificate{DNSNames: []string{"timers.example"}}
	for _, c := range []struct {
		err    error
		remedy string
	}{
		{noReply(x509.HostnameError{Certificate: leaf, Host: "foliot.internal"}), "to a name that the certificate has"},
		{noReply(x509.CertificateInvalidError{Cert: leaf, Reason: x509.Expired}), "renew the certificate"},
		{&client.Error{Op: "add", Status: 503, Code: "capacity", Detail: "the store is full"}, "foliot doctor"},
	} {
		if text := (Words{}).OneLine(c.err); !strings.Contains(text, c.remedy) || strings.Contains(text, "foliot serve") {
			t.Errorf("%q", text)
		}
	}
}

func TestOnlyAnExpiredCertificateIsAdvisedToBeRenewed(t *testing.T) {
	err := &client.TransportError{Op: "list", Server: "https://foliot.internal", Err: x509.CertificateInvalidError{Cert: new(x509.Certificate), Reason: x509.NotAuthorizedToSign}}
	if text := (Words{}).OneLine(err); strings.Contains(text, "renew") {
		t.Errorf("%q", text)
	}
}
