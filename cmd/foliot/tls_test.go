package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/redact"
)

// authority signs certificates for tests.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	made int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	return a
}

func (a *authority) sign(want, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	if parent == nil {
		parent, by = want, key
	}
	a.made++
	want.SerialNumber = big.NewInt(a.made)
	want.Subject = pkix.Name{CommonName: "test " + want.SerialNumber.String()} // OpenSSL takes what has its signer's name for self-signed
	want.NotBefore = time.Now().Add(-time.Hour)
	if want.NotAfter.IsZero() {
		want.NotAfter = time.Now().Add(365 * 24 * time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, want, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// leaf returns a certificate for 127.0.0.1 that ends then, and its key, in PEM.
func (a *authority) leaf(end time.Time) (cert, key []byte) {
	a.t.Helper()
	c, k := a.sign(&x509.Certificate{
		NotAfter: end, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return pemOf("CERTIFICATE", c.Raw), pemOf("PRIVATE KEY", der)
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// pool trusts the authority.
func (a *authority) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// files writes a certificate that ends then into a directory of its own.
func (a *authority) files(end time.Time) tlsFiles {
	a.t.Helper()
	dir := a.t.TempDir()
	f := tlsFiles{cert: filepath.Join(dir, "crt.pem"), key: filepath.Join(dir, "key.pem")}
	a.renew(f, end)
	return f
}

// renew puts a new certificate into the files.
func (a *authority) renew(f tlsFiles, end time.Time) {
	a.t.Helper()
	cert, key := a.leaf(end)
	write(a.t, f.cert, cert)
	write(a.t, f.key, key)
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// journal is a log that a test reads while others write.
type journal struct {
	mu      sync.Mutex // guards what follows
	text    bytes.Buffer
	written sync.Cond
}

func newJournal() *journal {
	j := new(journal)
	j.written.L = &j.mu
	return j
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.written.Broadcast()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// await returns when text was written.
func (j *journal) await(t *testing.T, text string) {
	t.Helper()
	late := false
	defer time.AfterFunc(testPatience, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		late = true
		j.written.Broadcast()
	}).Stop()
	j.mu.Lock()
	defer j.mu.Unlock()
	for !bytes.Contains(j.text.Bytes(), []byte(text)) {
		if late {
			t.Fatalf("nobody wrote %q:\n%s", text, &j.text)
		}
		j.written.Wait()
	}
}

func (j *journal) log() *slog.Logger { return redact.NewLogger(j, "text", "debug") }

func inAYear() time.Time { return time.Now().Add(365 * 24 * time.Hour).Truncate(time.Second) }

func TestANewCertificateIsTakenWithoutARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, j := newAuthority(t), newJournal()
		files := a.files(inAYear())
		c, err := loadCertificates(files, j.log(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		hangup := make(chan os.Signal)
		go func() { c.watch(ctx, hangup); close(ended) }()
		later := inAYear().Add(time.Hour)
		a.renew(files, later)
		time.Sleep(reloadEvery + time.Millisecond)
		synctest.Wait()
		if now := c.state(); !now.NotAfter.Equal(later) || now.Broken {
			t.Errorf("the certificate in use ends %v, want %v; broken: %v", now.NotAfter, later, now.Broken)
		}
		again := later.Add(time.Hour)
		a.renew(files, again)
		hangup <- syscall.SIGHUP
		synctest.Wait()
		if now := c.state(); !now.NotAfter.Equal(again) {
			t.Errorf("after SIGHUP the certificate in use ends %v, want %v", now.NotAfter, again)
		}
		stop()
		<-ended
	})
}

func TestABrokenCertificateKeepsTheOldOneAndIsToldOfOnce(t *testing.T) {
	a := newAuthority(t)
	for name, spoil := range map[string]func(tlsFiles){
		"no PEM":          func(f tlsFiles) { write(t, f.cert, []byte("half a cert")) },
		"half written":    func(f tlsFiles) { cert, _ := a.leaf(inAYear()); write(t, f.cert, cert[:len(cert)/2]) },
		"of another key":  func(f tlsFiles) { cert, _ := a.leaf(inAYear()); write(t, f.cert, cert) },
		"without its key": func(f tlsFiles) { _ = os.Remove(f.key) },
		"ended":           func(f tlsFiles) { a.renew(f, time.Now().Add(-time.Minute)) },
	} {
		t.Run(name, func(t *testing.T) {
			j, end := newJournal(), inAYear()
			files := a.files(end)
			c, err := loadCertificates(files, j.log(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			spoil(files)
			for range 3 {
				c.reload(time.Now(), false)
			}
			if now := c.state(); !now.NotAfter.Equal(end) || !now.Broken {
				t.Errorf("the certificate in use ends %v, want %v; broken: %v", now.NotAfter, end, now.Broken)
			}
			if said := strings.Count(j.String(), "level=ERROR"); said != 1 || !strings.Contains(j.String(), filepath.Dir(files.cert)) {
				t.Errorf("it was told of %d times:\n%s", said, j)
			}
			c.reload(time.Now(), true)
			if said := strings.Count(j.String(), "level=ERROR"); said != 2 {
				t.Errorf("after SIGHUP it was told of %d times", said)
			}
			later := end.Add(time.Hour)
			a.renew(files, later)
			c.reload(time.Now(), false)
			if now := c.state(); !now.NotAfter.Equal(later) || now.Broken {
				t.Errorf("mended, the certificate ends %v, want %v; broken: %v", now.NotAfter, later, now.Broken)
			}
		})
	}
}

// TestANewKeyIsTakenWhenItIsClosedToOthers: many programs write a key first, and
// close it then. The server may read it in between.
func TestANewKeyIsTakenWhenItIsClosedToOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes")
	}
	a, j := newAuthority(t), newJournal()
	end := inAYear()
	files := a.files(end)
	c, err := loadCertificates(files, j.log(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	later := end.Add(time.Hour)
	a.renew(files, later)
	for _, step := range []struct {
		mode   fs.FileMode
		broken bool
	}{{0o644, true}, {0o600, false}} {
		if err := os.Chmod(files.key, step.mode); err != nil {
			t.Fatal(err)
		}
		c.reload(time.Now(), false)
		if now := c.state(); now.Broken != step.broken || now.NotAfter.Equal(later) == step.broken {
			t.Errorf("with mode %v: broken %v, the certificate ends %v", step.mode, now.Broken, now.NotAfter)
		}
	}
}

func TestTheEndOfACertificateIsToldOfOnceADay(t *testing.T) {
	a, j := newAuthority(t), newJournal()
	now := time.Now()
	c, err := loadCertificates(a.files(now.Add(expiresSoon+36*time.Hour)), j.log(), now)
	if err != nil {
		t.Fatal(err)
	}
	for day := range 4 {
		for hour := range 24 {
			c.reload(now.Add(time.Duration(24*day+hour)*time.Hour), false)
		}
	}
	if said := strings.Count(j.String(), "level=WARN"); said != 3 { // from 36 h on, that is three times in 96 h
		t.Errorf("it was told of %d times:\n%s", said, j)
	}
}

func TestTLSFilesThatAreOfNoUseAreRefusedByName(t *testing.T) {
	a := newAuthority(t)
	good := a.files(inAYear())
	other := a.files(inAYear())
	empty := filepath.Join(t.TempDir(), "empty")
	write(t, empty, nil)
	for flag, files := range map[string][]tlsFiles{
		"--tls-cert":      {{cert: empty, key: good.key}, {cert: good.cert, key: other.key}, {cert: empty + "x", key: good.key}, {cert: good.key, key: good.key}},
		"--tls-key":       {{cert: good.cert, key: empty + "x"}},
		"--tls-client-ca": {{good.cert, good.key, empty}, {good.cert, good.key, empty + "x"}, {good.cert, good.key, good.key}},
	} {
		for _, f := range files {
			if _, err := loadCertificates(f, slog.New(slog.DiscardHandler), time.Now()); exitCode(err) != exitUsage || !strings.HasPrefix(err.Error(), flag+": ") {
				t.Errorf("%+v: %v, want a fault of %s", f, err, flag)
			}
		}
	}
}

// secureNode runs a server with a certificate of a's.
func secureNode(t *testing.T, a *authority, change func(*serveConfig)) *server {
	t.Helper()
	cfg := testConfig()
	cfg.tls = a.files(inAYear())
	if change != nil {
		change(&cfg)
	}
	return runNodeWith(t, cfg, slog.New(slog.DiscardHandler), nil)
}

// secureClient trusts a.
func secureClient(t *testing.T, a *authority, change func(*tls.Config)) *http.Client {
	t.Helper()
	cfg := &tls.Config{RootCAs: a.pool()}
	if change != nil {
		change(cfg)
	}
	transport := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: testPatience}
}

func TestTLSSpeaksHTTP2AndNothingOlderThanItShould(t *testing.T) {
	a := newAuthority(t)
	n := secureNode(t, a, nil)
	url := "https://" + n.listener.Addr().String() + "/healthz"
	reply, err := secureClient(t, a, nil).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	if reply.ProtoMajor != 2 || reply.StatusCode != http.StatusOK {
		t.Errorf("%s %s", reply.Proto, reply.Status)
	}
	old := &tls.Config{RootCAs: a.pool(), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", n.listener.Addr().String(), old); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err = plain.Get("http://" + n.listener.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	if reply.StatusCode == http.StatusOK {
		t.Error("a server with a certificate answers without TLS")
	}
}

func TestAStrangersHandshakeIsNoWarning(t *testing.T) {
	cfg, j := testConfig(), newJournal()
	cfg.tls = newAuthority(t).files(inAYear())
	n := runNodeWith(t, cfg, j.log(), nil)
	conn, err := net.Dial("tcp", n.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write([]byte("no handshake at all\r\n\r\n"))
	conn.Close()
	j.await(t, "TLS handshake error")
	if log := j.String(); strings.Contains(log, "level=WARN") {
		t.Error(log)
	}
}

func TestHandshakesSeeANewCertificateAtOnceAndConnectionsLiveOn(t *testing.T) {
	a := newAuthority(t)
	n := secureNode(t, a, nil)
	url := "https://" + n.listener.Addr().String() + "/healthz"
	end := func(c *http.Client) time.Time {
		t.Helper()
		reply, err := c.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		return reply.TLS.PeerCertificates[0].NotAfter
	}
	before := secureClient(t, a, nil)
	first := end(before)
	later := inAYear().Add(time.Hour)
	a.renew(n.certs.files, later)
	n.certs.reload(time.Now(), true)
	if got := end(secureClient(t, a, nil)); !got.Equal(later.UTC()) {
		t.Errorf("a new connection sees a certificate that ends %v, want %v", got, later)
	}
	if got := end(before); !got.Equal(first) {
		t.Error("the connection from before did not live on")
	}
}

func TestAClientWithoutACertificateIsTurnedAwayWhereOneIsAskedFor(t *testing.T) {
	a, stranger := newAuthority(t), newAuthority(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	write(t, ca, pemOf("CERTIFICATE", a.cert.Raw))
	n := secureNode(t, a, func(c *serveConfig) { c.tls.clientCA = ca })
	url := "https://" + n.listener.Addr().String() + "/healthz"
	shows := func(by *authority) func(*tls.Config) {
		return func(c *tls.Config) {
			cert, key := by.leaf(inAYear())
			pair, err := tls.X509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			c.Certificates = []tls.Certificate{pair}
		}
	}
	for _, c := range []struct {
		who     string
		change  func(*tls.Config)
		welcome bool
	}{{"nobody", nil, false}, {"a stranger", shows(stranger), false}, {"a client", shows(a), true}} {
		reply, err := secureClient(t, a, c.change).Get(url)
		if err == nil {
			reply.Body.Close()
		}
		if (err == nil) != c.welcome {
			t.Errorf("%s: %v", c.who, err)
		}
	}
}
