package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/usage"
)

// serverFlags say which server a command speaks to, and as whom.
type serverFlags struct {
	Server    string `default:"http://127.0.0.1:8750" env:"FOLIOT_SERVER" placeholder:"URL" help:"The server that the command speaks to. Where it answers 503, as while its store is away, it is asked again for four seconds at most."`
	Token     string `env:"FOLIOT_TOKEN" placeholder:"TOKEN" help:"The access token. On a command line others may see it: the variable, or a file, is better."`
	TokenFile string `env:"FOLIOT_TOKEN_FILE" placeholder:"FILE" help:"The file that holds the access token."`
	Namespace string `env:"FOLIOT_NAMESPACE" placeholder:"NAME" help:"Act in this namespace, with a token that is good for all (default: the token's, or default)."`
	CACert    string `name:"ca-cert" env:"FOLIOT_CA_CERT" placeholder:"FILE" help:"Trust the certificates of this authority too (PEM)."`

	notes     io.Writer       // standard error
	transport *http.Transport // of the client that was made; nil: none was
}

// cliRetries are short: a person waits. A server that does not reach its store has
// tried for two seconds before it says so, and is asked once more: a failover of
// Redis takes not much longer.
var cliRetries = client.RetryPolicy{Attempts: 3, MinBackoff: 100 * time.Millisecond, MaxBackoff: 5 * time.Second, Within: 4 * time.Second}

// dialer returns a client of the server that the flags name.
type dialer func() (*client.Client, error)

// client returns a client of the server that the flags name; close ends its connections.
func (f *serverFlags) client() (*client.Client, error) {
	u, err := url.Parse(f.Server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usage.Errorf("--server", "%q is no URL of a server; it looks like http://127.0.0.1:8750", f.Server)
	}
	token, err := f.token()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64 // import and scripts keep several requests going
	if transport.TLSClientConfig, err = f.tls(); err != nil {
		return nil, err
	}
	api, err := client.New(f.Server, client.Options{
		Token: token, Namespace: f.Namespace,
		HTTPClient: &http.Client{Transport: &retelling{next: &exposure{next: transport, proxy: transport.Proxy, notes: f.notes}, notes: f.notes}},
		Retry:      cliRetries,
		UserAgent:  "foliot/" + buildinfo.Version(),
	})
	if err != nil {
		return nil, usage.Errorf("--server, --token, --namespace", "%s", strings.TrimPrefix(err.Error(), "client: "))
	}
	f.transport = transport
	return api, nil
}

// retelling says that the server is asked again after it answered 503, once: for
// as long as that takes nothing else is seen.
type retelling struct {
	next    http.RoundTripper
	notes   io.Writer
	refused atomic.Bool
	once    sync.Once
}

// RoundTrip implements http.RoundTripper.
func (r *retelling) RoundTrip(req *http.Request) (*http.Response, error) {
	if r.refused.Load() {
		r.once.Do(func() { fmt.Fprintln(r.notes, "foliot: the server answered 503; trying again") })
	}
	reply, err := r.next.RoundTrip(req)
	r.refused.Store(err == nil && reply.StatusCode == http.StatusServiceUnavailable)
	return reply, err
}

func (f *serverFlags) close() {
	if f.transport != nil {
		f.transport.CloseIdleConnections()
	}
}

// token returns the access token, "" where none is given.
func (f *serverFlags) token() (string, error) {
	switch {
	case f.TokenFile == "":
		return f.Token, nil
	case f.Token != "":
		return "", usage.Errorf("--token, --token-file", "give one of them, not both (FOLIOT_TOKEN and FOLIOT_TOKEN_FILE count too)")
	}
	data, err := fileaccess.Read(f.TokenFile, fileaccess.SecretFile)
	if err != nil {
		return "", usage.Errorf("--token-file", "%v", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", usage.Errorf("--token-file", "%s is empty", f.TokenFile)
	}
	return token, nil
}

// tls returns nil for the system's authorities alone.
func (f *serverFlags) tls() (*tls.Config, error) {
	if f.CACert == "" {
		return nil, nil
	}
	pem, err := fileaccess.Read(f.CACert, fileaccess.Unaltered)
	if err != nil {
		return nil, usage.Errorf("--ca-cert", "%v", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, usage.Errorf("--ca-cert", "%s holds no certificate in PEM", f.CACert)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// renamed returns err with the command's own words for what was tried.
func renamed(err error, op string) error {
	var refused *client.Error
	var silent *client.TransportError
	switch {
	case errors.As(err, &refused):
		e := *refused
		e.Op = op
		return &e
	case errors.As(err, &silent):
		e := *silent
		e.Op = op
		return &e
	}
	return err
}

// advice returns what the user can do about err, where its own words leave that open.
func advice(err error) string {
	var silent *client.TransportError
	var refused *client.Error
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return ": --ca-cert or FOLIOT_CA_CERT names an authority of your own"
	case errors.Is(err, client.ErrSpeaksTLS) && errors.As(err, &silent):
		return ": give --server or FOLIOT_SERVER https" + strings.TrimPrefix(silent.Server, "http")
	case errors.Is(err, client.ErrNoTLS) && errors.As(err, &silent):
		return ": give --server or FOLIOT_SERVER http" + strings.TrimPrefix(silent.Server, "https")
	case errors.As(err, &silent):
		return ": is `foliot serve` running there? --server or FOLIOT_SERVER names another"
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		return ": --token-file, FOLIOT_TOKEN or FOLIOT_TOKEN_FILE gives one"
	case errors.As(err, &refused) && refused.Code == "unavailable":
		return ": try again soon; the log of foliot serve says more"
	}
	return ""
}
