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
	"github.com/foliot/foliot/internal/telemetry/metrics"
	"github.com/foliot/foliot/internal/usage"
)

// TLSFiles name what TLS needs, in PEM. No certificate: no TLS.
type TLSFiles struct{ Cert, Key, ClientCA string }

const (
	// reloadEvery is how often the files are looked at. They are read, not
	// asked for their times: whoever replaces a directory behind a symbolic link
	// changes the content and nothing else that could be trusted.
	reloadEvery = 5 * time.Second
	// expiresSoon is when the log begins to tell of a certificate's end, once a day.
	expiresSoon = 14 * 24 * time.Hour
)

// Certificates is the server's side of TLS: what the files held when they were
// last in order. watch reads them again; handshakes go on meanwhile, and
// connections keep what they began with.
type Certificates struct {
	files TLSFiles
	log   *slog.Logger

	live   atomic.Pointer[liveTLS] // written by load, read by every handshake
	broken atomic.Bool             // the files, as they are now, are of no use; for metrics

	// Of the goroutine that loads: node.Open's, and then watch's.
	seen   [sha256.Size]byte // of the last reading, in order or not
	warned time.Time         // of the certificate's end
}

type liveTLS struct {
	config   *tls.Config
	notAfter time.Time
}

// LoadCertificates reads the files. An error is a usage.Error, which names the flag.
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

// config returns what a server needs: each handshake gets what the files held last.
func (c *Certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"h2", "http/1.1"},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) { return c.live.Load().config, compute(hello) },
	}
}

// State returns what metrics tell.
func (c *Certificates) State() metrics.Certificate {
	return metrics.Certificate{NotAfter: c.live.Load().notAfter, Broken: c.broken.Load()}
}

// Watch reads the files again every few seconds, and at once when hangup tells,
// until ctx ends.
func (c *Certificates) Watch(ctx context.Context, hangup <-chan os.Signal) {
	tick := time.NewTicker(reloadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.reload(time.Now(), false)
		case <-hangup:
			c.reload(time.Now(), true)
		}
	}
}

// reload takes what the files hold now, if it is in order. What is not is told
// of once, and again whenever somebody asks; what was in use stays in use.
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
		err = fmt.Errorf("--tls-cert: %s ended on %s, and the one in use has not", c.files.Cert, live.notAfter.Format(time.RFC3339))
	}
	c.broken.Store(err != nil)
	if err != nil {
		c.log.Error("TLS goes on with the certificate it has: the new files are of no use", "error", err, "not_after", c.live.Load().notAfter)
		return
	}
	c.live.Store(live)
	c.warned = time.Time{}
	c.log.Info("TLS has read its files again", "certificate", c.files.Cert, "not_after", live.notAfter)
}

// remind tells once a day of an end that is near or past.
func (c *Certificates) remind(now time.Time) {
	left := c.live.Load().notAfter.Sub(now)
	if left > expiresSoon || now.Sub(c.warned) < 24*time.Hour {
		return
	}
	c.warned = now
	c.log.Warn("the TLS certificate ends soon, or has ended", "certificate", c.files.Cert, "not_after", c.live.Load().notAfter)
}

// tlsContent is what the files hold.
type tlsContent struct{ cert, key, clientCA []byte }

// read returns what could be read, also beside an error.
func (c *Certificates) read() (content tlsContent, err error) {
	for _, f := range []struct {
		flag, path string
		keep       fileaccess.Secrecy
		into       *[]byte
	}{
		{"--tls-cert", c.files.Cert, fileaccess.Unaltered, &content.cert},
		{"--tls-key", c.files.Key, fileaccess.SecretFile, &content.key},
		{"--tls-client-ca", c.files.ClientCA, fileaccess.Unaltered, &content.clientCA}, // it decides which clients may connect
	} {
		if f.path == "" {
			continue
		}
		data, readErr := fileaccess.Read(f.path, f.keep)
		*f.into = data
		if readErr != nil && err == nil {
			err = usage.Errorf(f.flag, "%v", readErr)
		}
	}
	return content, err
}

// sum returns a value that differs if the files do, or the reason that they cannot be used:
// a mode can be mended without a change of the content.
func (t tlsContent) sum(problem error) [sha256.Size]byte {
	return sha256.Sum256(bytes.Join([][]byte{t.cert, t.key, t.clientCA, []byte(fmt.Sprint(problem))}, []byte{0}))
}

// parse returns the configuration of a server with these files.
func (t tlsContent) parse(files TLSFiles) (*liveTLS, error) {
	pair, err := tls.X509KeyPair(t.cert, t.key)
	if err != nil {
		return nil, usage.Errorf("--tls-cert", "%s and the key %s: %v", files.Cert, files.Key, err)
	}
	live := &liveTLS{notAfter: pair.Leaf.NotAfter, config: &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		// It is asked again after a client had to choose another key.
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, compute(hello) },
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
