package httpserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/usage"
)

// TLSFiles names the files for TLS, in PEM. There is no TLS if Cert is "".
type TLSFiles struct{ Cert, Key, ClientCA string }

const (
	// reloadEvery is how often the files are read. Modification times are not
	// compared, because they can stay the same when a symbolic link gets a new
	// directory.
	reloadEvery = 5 * time.Second
	// expiresSoon is how long before a certificate expires the log begins to warn,
	// once a day.
	expiresSoon = 14 * 24 * time.Hour
)

// Certificates is the server's side of TLS: the last valid content of the
// files, which Watch reads again. New handshakes use the new content, and
// connections keep the content that they began with.
type Certificates struct {
	files TLSFiles
	log   *slog.Logger

	live   atomic.Pointer[liveTLS] // written by LoadCertificates and reload, read by every handshake
	broken atomic.Bool             // the present files cannot be used; for metrics

	// Used by one goroutine at a time: LoadCertificates, then Watch.
	seen   [sha256.Size]byte // checksum of the last read, valid or not
	warned time.Time         // when the log last warned that the certificate expires
}

type liveTLS struct {
	config   *tls.Config
	notAfter time.Time
}

// LoadCertificates reads the files. An error is a usage.Error, which names the
// flag.
func LoadCertificates(files TLSFiles, log *slog.Logger, now time.Time) (*Certificates, error) {
	c := &Certificates{files: files, log: log}
	content, err := c.read()
	if err != nil {
		return nil, err
	}
	live, err := content.parse(files)
	if err != nil {
		return nil, err
	}
	c.seen = content.sum(nil)
	c.live.Store(live)
	c.remind(now)
	return c, nil
}

// config returns a TLS configuration that uses, for each handshake, the last valid
// content of the files.
func (c *Certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.live.Load().config, nil },
	}
}

// State returns the end of the certificate in use, and whether the present files
// cannot be used.
func (c *Certificates) State() (notAfter time.Time, broken bool) {
	return c.live.Load().notAfter, c.broken.Load()
}

// Watch reads the files again every few seconds, and at once after a signal on
// hangup, until ctx ends.
func (c *Certificates) Watch(ctx context.Context, hangup <-chan os.Signal) {
	tick := time.Tick(reloadEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			c.reload(time.Now(), false)
		case <-hangup:
			c.reload(time.Now(), true)
		}
	}
}

// reload uses the present content of the files, if it is valid. Otherwise the
// previous content stays in use, and reload logs the error: once for each change of
// the files, and always if asked is true.
func (c *Certificates) reload(now time.Time, asked bool) {
	defer c.remind(now)
	content, err := c.read()
	sum := content.sum(err)
	if sum == c.seen && !asked {
		return
	}
	c.seen = sum
	var live *liveTLS
	if err == nil {
		live, err = content.parse(c.files)
	}
	if err == nil && now.After(live.notAfter) && now.Before(c.live.Load().notAfter) {
		err = fmt.Errorf("--tls-cert: the new certificate %s expired on %s, and the previous one has not: install one that is valid", c.files.Cert, live.notAfter.Format(time.RFC3339))
	}
	c.broken.Store(err != nil)
	if err != nil {
		c.log.Error("the new TLS files cannot be used: the previous certificate stays in use", "error", err, "not_after", c.live.Load().notAfter)
		return
	}
	c.live.Store(live)
	c.warned = time.Time{}
	c.log.Info("the server loaded new TLS files", "certificate", c.files.Cert, "not_after", live.notAfter)
}

// remind logs once a day that the certificate expires soon or has expired.
func (c *Certificates) remind(now time.Time) {
	if c.live.Load().notAfter.Sub(now) > expiresSoon || now.Sub(c.warned) < 24*time.Hour {
		return
	}
	c.warned = now
	c.log.Warn("the TLS certificate expires soon or has expired", "certificate", c.files.Cert, "not_after", c.live.Load().notAfter)
}

// tlsContent is the content of the files.
type tlsContent struct{ cert, key, clientCA []byte }

// read returns the content of all readable files, even if err is not nil.
func (c *Certificates) read() (content tlsContent, err error) {
	for _, f := range []struct {
		flag, path string
		secrecy    fileaccess.Secrecy
		into       *[]byte
	}{
		{"--tls-cert", c.files.Cert, fileaccess.Unaltered, &content.cert},
		{"--tls-key", c.files.Key, fileaccess.SecretFile, &content.key},
		{"--tls-client-ca", c.files.ClientCA, fileaccess.Unaltered, &content.clientCA}, // it decides which clients may connect
	} {
		if f.path == "" {
			continue
		}
		data, readErr := fileaccess.Read(f.path, f.secrecy)
		*f.into = data
		if readErr != nil && err == nil {
			err = usage.Errorf(f.flag, "%v", readErr)
		}
	}
	return content, err
}

// sum returns a checksum of the files and of the error of reading them. The error
// is in it, because a new mode of a file can solve a problem without a change of
// its content.
func (t tlsContent) sum(problem error) [sha256.Size]byte {
	return sha256.Sum256(bytes.Join([][]byte{t.cert, t.key, t.clientCA, []byte(fmt.Sprint(problem))}, []byte{0}))
}

// parse returns the configuration of a server with these files.
func (t tlsContent) parse(files TLSFiles) (*liveTLS, error) {
	pair, err := tls.X509KeyPair(t.cert, t.key)
	if err != nil {
		return nil, usage.Errorf("--tls-cert", "the certificate %s and the key %s cannot be used: %v", files.Cert, files.Key, err)
	}
	live := &liveTLS{notAfter: pair.Leaf.NotAfter, config: &tls.Config{
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
		Certificates: []tls.Certificate{pair},
	}}
	if files.ClientCA != "" {
		live.config.ClientAuth = tls.RequireAndVerifyClientCert
		live.config.ClientCAs = x509.NewCertPool()
		if !live.config.ClientCAs.AppendCertsFromPEM(t.clientCA) {
			return nil, usage.Errorf("--tls-client-ca", "%s holds no certificate in PEM", files.ClientCA)
		}
	}
	return live, nil
}
