package exit

import (
	"crypto/x509"
	"errors"
	"net/http"
	"strings"

	"github.com/foliot/foliot/client"
)

// WithOp returns err with op as the name of the operation that failed.
func WithOp(err error, op string) error {
	var refused *client.Error
	var noReply *client.TransportError
	switch {
	case errors.As(err, &refused):
		e := *refused
		e.Op = op
		return &e
	case errors.As(err, &noReply):
		e := *noReply
		e.Op = op
		return &e
	}
	return err
}

// advice returns a remedy for err, or "" if the text of err already has one.
func advice(err error) string {
	var noReply *client.TransportError
	var refused *client.Error
	var unknown x509.UnknownAuthorityError
	var otherName x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unparsed *unparsedError
	switch {
	case errors.As(err, &unparsed):
		return "; " + unparsed.hint
	case errors.As(err, &noReply) && errors.As(err, &unknown): // --ca-cert does not apply to a store
		return ": set --ca-cert or FOLIOT_CA_CERT to the certificate of your own authority"
	case errors.As(err, &noReply) && errors.As(err, &otherName):
		return ": set --server or FOLIOT_SERVER to a name that the certificate has"
	case errors.As(err, &noReply) && errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return ": renew the certificate of the server, or correct the clock of this machine"
	case errors.Is(err, client.ErrNeedsCertificate):
		return ": pass one with --client-cert and --client-key, or FOLIOT_CLIENT_CERT and FOLIOT_CLIENT_KEY"
	case errors.Is(err, client.ErrSpeaksTLS) && errors.As(err, &noReply):
		return ": set --server or FOLIOT_SERVER to https" + strings.TrimPrefix(noReply.Server, "http")
	case errors.Is(err, client.ErrNoTLS) && errors.As(err, &noReply):
		return ": set --server or FOLIOT_SERVER to http" + strings.TrimPrefix(noReply.Server, "https")
	case errors.As(err, &noReply):
		return ": check that `foliot serve` runs there, or set --server or FOLIOT_SERVER to another address"
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized && refused.Code != "token_required":
		return ": pass another one with --token-file, FOLIOT_TOKEN or FOLIOT_TOKEN_FILE"
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		return ": pass one with --token-file, FOLIOT_TOKEN or FOLIOT_TOKEN_FILE"
	case errors.As(err, &refused) && refused.Code == "unavailable":
		return ": retry soon; `foliot doctor` and the log of foliot serve have the reason"
	case errors.As(err, &refused) && refused.Code == "capacity":
		return ": `foliot doctor` with an operator's token shows how much room the store has"
	}
	return ""
}
