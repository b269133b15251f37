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
		if text := OneLine(c.err, nil); strings.Contains(text, "--ca-cert") != c.advised {
			t.Errorf("%q", text)
		}
	}
}
