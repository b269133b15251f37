package connect

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/buildinfo"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/usage"
)

// Flags choose the server that a command calls, and its credentials. The
// command line declares the group of their help.
type Flags struct {
	Context   string `group:"global" env:"FOLIOT_CONTEXT" placeholder:"NAME" help:"Call the server of this context (default: the current context)."`
	Server    string `group:"global" env:"FOLIOT_SERVER" placeholder:"URL" help:"The URL of the server (default: the context's, or http://127.0.0.1:8750)."`
	Token     string `group:"global" env:"FOLIOT_TOKEN" placeholder:"TOKEN" help:"The access token. Other users can see a command line, so prefer the variable or --token-file."`
	TokenFile string `group:"global" env:"FOLIOT_TOKEN_FILE" placeholder:"FILE" help:"The file that contains the access token."`
	Namespace string `group:"global" env:"FOLIOT_NAMESPACE" placeholder:"NAME" help:"Act in this namespace. If the server has tokens, this needs an operator's token (default: the context's, the token's, or default)."`
	CACert    string `group:"global" name:"ca-cert" env:"FOLIOT_CA_CERT" placeholder:"FILE" help:"Also trust certificates of this authority (PEM)."`

	ClientCert string `group:"global" env:"FOLIOT_CLIENT_CERT" placeholder:"FILE" help:"Send this certificate to the server (PEM)."`
	ClientKey  string `group:"global" env:"FOLIOT_CLIENT_KEY" placeholder:"FILE" help:"The private key of --client-cert (PEM)."`

	Notes     io.Writer       `kong:"-"` // standard error
	Typed     map[string]bool `kong:"-"` // the flags that are on the command line; the other values come from variables
	target    *target         // what the last client calls; nil until one is created
	transport *http.Transport // of all clients; nil until one is created
	identity  *certificateRequest
	noted     http.RoundTripper // the transport with warnings on Notes
}

// cliRetries is short because a person waits. A server that cannot reach its
// store tries for two seconds before it answers 503. One more request covers a
// failover of Redis, which takes little longer.
var cliRetries = client.RetryPolicy{Attempts: 3, MinBackoff: 100 * time.Millisecond, MaxBackoff: 5 * time.Second, Within: 4 * time.Second}

// Dialer returns a client for the server that the flags name.
type Dialer func() (*client.Client, error)

// Client returns a client for the server that the flags name. Close ends its
// connections.
func (f *Flags) Client() (*client.Client, error) {
	t, err := f.Target()
	if err != nil {
		return nil, err
	}
	return f.In(t.Namespace)
}

// In is Client for another namespace. The clients of one Flags share their
// connections.
func (f *Flags) In(namespace string) (*client.Client, error) {
	t, err := f.Target()
	if err != nil {
		return nil, err
	}
	token, err := f.token(t)
	if err != nil {
		return nil, err
	}
	if err := CheckServer(t.place("--server", f.Server), t.Server); err != nil {
		return nil, err
	}
	if f.transport == nil {
		if err := f.open(t); err != nil {
			return nil, err
		}
	}
	api, err := client.New(t.Server, client.Options{
		Token: token, Namespace: namespace,
		HTTPClient: &http.Client{Transport: f.noted},
		Retry:      cliRetries,
		UserAgent:  "foliot/" + buildinfo.Version(),
	})
	if err != nil {
		return nil, usage.Errorf("--server, --token, --namespace", "%s", strings.TrimPrefix(err.Error(), "client: "))
	}
	f.target = t
	return api, nil
}

func (f *Flags) open(t *target) (err error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64 // foliot import sends several requests at once
	if transport.TLSClientConfig, err = trust(t.place("--ca-cert", f.CACert), t.CACert); err != nil {
		return err
	}
	identity := &certificateRequest{next: transport}
	identity.pair, err = ClientCertificate(t.place("--client-cert", f.ClientCert), t.ClientCert, t.place("--client-key", f.ClientKey), t.ClientKey)
	if err != nil {
		return err
	}
	transport.TLSClientConfig.GetClientCertificate = identity.get
	f.transport, f.identity = transport, identity
	f.noted = &plaintextWarning{next: identity, proxy: transport.Proxy, notes: f.Notes}
	return nil
}

// Scope returns the namespace of the caller, for a command that can act in all
// namespaces. It reports all if the caller is an operator, and no flag,
// variable or context names a namespace. Call it after Client.
func (f *Flags) Scope(ctx context.Context, api *client.Client) (namespace string, all bool, err error) {
	caller, err := admin.New(api).Whoami(ctx)
	if err != nil {
		return "", false, err
	}
	return caller.Namespace, caller.Operator && f.target.Namespace == "", nil
}

// Close ends the idle connections of the client.
func (f *Flags) Close() {
	if f.transport != nil {
		f.transport.CloseIdleConnections()
	}
}

func (f *Flags) token(t *target) (string, error) {
	file, place := t.TokenFile, t.place("--token-file", f.TokenFile)
	switch {
	case file == "":
		return f.Token, nil
	case f.Token != "":
		return "", usage.Errorf("--token, --token-file", "pass only one of them (FOLIOT_TOKEN and FOLIOT_TOKEN_FILE count too)")
	}
	return readToken(place, file)
}

func readToken(place, file string) (string, error) {
	data, err := fileaccess.Read(file, fileaccess.SecretFile)
	if err != nil {
		return "", usage.Errorf(place, "%v", err)
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", usage.Errorf(place, "%s is empty", file)
	}
	return token, nil
}

// CheckFiles returns an error if the file of a token, of an authority or of a
// client's certificate cannot be used. An empty path is valid.
func CheckFiles(tokenFile, caCert, clientCert, clientKey string) error {
	if tokenFile != "" {
		if _, err := readToken("--token-file", tokenFile); err != nil {
			return err
		}
	}
	if _, err := trust("--ca-cert", caCert); err != nil {
		return err
	}
	_, err := ClientCertificate("--client-cert", clientCert, "--client-key", clientKey)
	return err
}

// trust returns a TLS configuration that also trusts the authority in a file.
// Without a file it trusts only the authorities of the system. Its errors name
// place.
func trust(place, file string) (*tls.Config, error) {
	if file == "" {
		return &tls.Config{MinVersion: tls.VersionTLS12}, nil
	}
	pool, err := fileaccess.Authorities(file)
	if err != nil {
		return nil, usage.Errorf(place, "%v", err)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// Unchanged returns the condition that a setting is as it was read. etag is "" if
// there was none.
func Unchanged(etag string) client.CallOption {
	if etag == "" {
		return client.IfNoneMatch()
	}
	return client.IfMatch(etag)
}
