package httpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/usage"
)

func TestANewCertificateIsUsedWithoutARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, j := servertest.NewAuthority(t), servertest.NewJournal()
		files := a.Files(servertest.InAYear())
		c, err := LoadCertificates(tlsOf(files), j.Logger(), time.Now())
		fatal.If(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		hangup := make(chan os.Signal)
		go func() { c.Watch(ctx, hangup); close(ended) }()
		later := servertest.InAYear().Add(time.Hour)
		a.Renew(files, later)
		time.Sleep(reloadEvery + time.Millisecond)
		synctest.Wait()
		if used, broken := c.State(); !used.Equal(later) || broken {
			t.Errorf("the certificate in use ends %v, want %v; broken: %v", used, later, broken)
		}
		again := later.Add(time.Hour)
		a.Renew(files, again)
		hangup <- syscall.SIGHUP
		synctest.Wait()
		if used, _ := c.State(); !used.Equal(again) {
			t.Errorf("after SIGHUP the certificate in use ends %v, want %v", used, again)
		}
		stop()
		<-ended
	})
}

func TestABrokenCertificateIsLoggedOnceAndThePresentOneStays(t *testing.T) {
	a := servertest.NewAuthority(t)
	for name, spoil := range map[string]func(servertest.KeyFiles){
		"no PEM": func(f servertest.KeyFiles) { servertest.WriteFile(t, f.Cert, []byte("half a cert")) },
		"half written": func(f servertest.KeyFiles) {
			cert, _ := a.Leaf(servertest.InAYear())
			servertest.WriteFile(t, f.Cert, cert[:len(cert)/2])
		},
		"of another key": func(f servertest.KeyFiles) {
			cert, _ := a.Leaf(servertest.InAYear())
			servertest.WriteFile(t, f.Cert, cert)
		},
		"without its key": func(f servertest.KeyFiles) { _ = os.Remove(f.Key) },
		"ended":           func(f servertest.KeyFiles) { a.Renew(f, time.Now().Add(-time.Minute)) },
	} {
		t.Run(name, func(t *testing.T) {
			j, end := servertest.NewJournal(), servertest.InAYear()
			files := a.Files(end)
			c, err := LoadCertificates(tlsOf(files), j.Logger(), time.Now())
			fatal.If(t, err)
			spoil(files)
			for range 3 {
				c.reload(time.Now(), false)
			}
			if used, broken := c.State(); !used.Equal(end) || !broken {
				t.Errorf("the certificate in use ends %v, want %v; broken: %v", used, end, broken)
			}
			if said := strings.Count(j.String(), "level=ERROR"); said != 1 || !strings.Contains(j.String(), filepath.Dir(files.Cert)) {
				t.Errorf("it was logged %d times:\n%s", said, j)
			}
			c.reload(time.Now(), true)
			if said := strings.Count(j.String(), "level=ERROR"); said != 2 {
				t.Errorf("after SIGHUP it was logged %d times", said)
			}
			later := end.Add(time.Hour)
			a.Renew(files, later)
			c.reload(time.Now(), false)
			if used, broken := c.State(); !used.Equal(later) || broken {
				t.Errorf("mended, the certificate ends %v, want %v; broken: %v", used, later, broken)
			}
		})
	}
}

// Many programs write a key first and then restrict its mode. The server may
// read the key in between.
func TestANewKeyIsUsedOnceOtherUsersCannotReadIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes")
	}
	a, j := servertest.NewAuthority(t), servertest.NewJournal()
	end := servertest.InAYear()
	files := a.Files(end)
	c, err := LoadCertificates(tlsOf(files), j.Logger(), time.Now())
	fatal.If(t, err)
	later := end.Add(time.Hour)
	a.Renew(files, later)
	for _, step := range []struct {
		mode   fs.FileMode
		broken bool
	}{{0o644, true}, {0o600, false}} {
		fatal.If(t, os.Chmod(files.Key, step.mode))
		c.reload(time.Now(), false)
		if used, broken := c.State(); broken != step.broken || used.Equal(later) == step.broken {
			t.Errorf("with mode %v: broken %v, the certificate ends %v", step.mode, broken, used)
		}
	}
}

func TestTheEndOfACertificateIsLoggedOnceADay(t *testing.T) {
	a, j := servertest.NewAuthority(t), servertest.NewJournal()
	now := time.Now()
	c, err := LoadCertificates(tlsOf(a.Files(now.Add(expiresSoon+36*time.Hour))), j.Logger(), now)
	fatal.If(t, err)
	for day := range 4 {
		for hour := range 24 {
			c.reload(now.Add(time.Duration(24*day+hour)*time.Hour), false)
		}
	}
	if said := strings.Count(j.String(), "level=WARN"); said != 3 { // from 36 hours on: three times in 96 hours
		t.Errorf("it was logged %d times:\n%s", said, j)
	}
}

func TestInvalidTLSFilesAreRefusedByName(t *testing.T) {
	a := servertest.NewAuthority(t)
	good := a.Files(servertest.InAYear())
	other := a.Files(servertest.InAYear())
	empty := filepath.Join(t.TempDir(), "empty")
	servertest.WriteFile(t, empty, nil)
	for flag, files := range map[string][]TLSFiles{
		"--tls-cert":      {{Cert: empty, Key: good.Key}, {Cert: good.Cert, Key: other.Key}, {Cert: empty + "x", Key: good.Key}, {Cert: good.Key, Key: good.Key}},
		"--tls-key":       {{Cert: good.Cert, Key: empty + "x"}},
		"--tls-client-ca": {{good.Cert, good.Key, empty}, {good.Cert, good.Key, empty + "x"}, {good.Cert, good.Key, good.Key}},
	} {
		for _, f := range files {
			if _, err := LoadCertificates(f, slog.New(slog.DiscardHandler), time.Now()); !errors.As(err, new(*usage.Error)) || !strings.HasPrefix(err.Error(), flag+": ") {
				t.Errorf("%+v: %v, want an error of %s", f, err, flag)
			}
		}
	}
}

// secureServer is a server with a certificate of a. It answers every request
// with 200.
type secureServer struct {
	*Server

	addr  string
	files servertest.KeyFiles
	certs *Certificates
}

// newSecureServer runs a server until the test ends. If ca is not "", clients
// need a certificate from the authority in that file.
func newSecureServer(t *testing.T, a *servertest.Authority, log *slog.Logger, ca string) *secureServer {
	t.Helper()
	s := &secureServer{files: a.Files(servertest.InAYear())}
	files := tlsOf(s.files)
	files.ClientCA = ca
	var err error
	if s.certs, err = LoadCertificates(files, log, time.Now()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	s.addr = l.Addr().String()
	s.Server = New(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), Config{
		Certs: s.certs, MaxConnections: 100, Trace: func(h http.Handler) http.Handler { return h }, Log: log,
	})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve() }()
	t.Cleanup(func() {
		if err := s.Shutdown(ended); err != nil {
			t.Error(err)
		}
	})
	return s
}

func tlsOf(f servertest.KeyFiles) TLSFiles { return TLSFiles{Cert: f.Cert, Key: f.Key} }

// secureClient trusts a.
func secureClient(t *testing.T, a *servertest.Authority, change func(*tls.Config)) *http.Client {
	t.Helper()
	cfg := &tls.Config{RootCAs: a.Pool()}
	if change != nil {
		change(cfg)
	}
	transport := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: servertest.Patience}
}

func TestTLSOffersHTTP2AndNoOldVersion(t *testing.T) {
	a := servertest.NewAuthority(t)
	n := newSecureServer(t, a, slog.New(slog.DiscardHandler), "")
	url := "https://" + n.addr + "/healthz"
	reply, err := secureClient(t, a, nil).Get(url)
	fatal.If(t, err)
	reply.Body.Close()
	if reply.ProtoMajor != 2 || reply.StatusCode != http.StatusOK {
		t.Errorf("%s %s", reply.Proto, reply.Status)
	}
	old := &tls.Config{RootCAs: a.Pool(), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", n.addr, old); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err = plain.Get("http://" + n.addr + "/healthz")
	fatal.If(t, err)
	reply.Body.Close()
	if reply.StatusCode == http.StatusOK {
		t.Error("a server with a certificate answers without TLS")
	}
}

func TestAFailedHandshakeIsNotLoggedAsAWarning(t *testing.T) {
	j := servertest.NewJournal()
	n := newSecureServer(t, servertest.NewAuthority(t), j.Logger(), "")
	conn, err := net.Dial("tcp", n.addr)
	fatal.If(t, err)
	_, _ = conn.Write([]byte("no handshake at all\r\n\r\n"))
	conn.Close()
	j.Await(t, "TLS handshake error")
	if log := j.String(); strings.Contains(log, "level=WARN") {
		t.Error(log)
	}
}

func TestNewHandshakesUseANewCertificateAndConnectionsContinue(t *testing.T) {
	a := servertest.NewAuthority(t)
	n := newSecureServer(t, a, slog.New(slog.DiscardHandler), "")
	url := "https://" + n.addr + "/healthz"
	end := func(c *http.Client) time.Time {
		t.Helper()
		reply, err := c.Get(url)
		fatal.If(t, err)
		reply.Body.Close()
		return reply.TLS.PeerCertificates[0].NotAfter
	}
	before := secureClient(t, a, nil)
	first := end(before)
	later := servertest.InAYear().Add(time.Hour)
	a.Renew(n.files, later)
	n.certs.reload(time.Now(), true)
	if got := end(secureClient(t, a, nil)); !got.Equal(later.UTC()) {
		t.Errorf("a new connection sees a certificate that ends %v, want %v", got, later)
	}
	if got := end(before); !got.Equal(first) {
		t.Error("the connection from before did not live on")
	}
}

func TestAClientWithoutARequiredCertificateIsRefused(t *testing.T) {
	a, stranger := servertest.NewAuthority(t), servertest.NewAuthority(t)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	servertest.WriteFile(t, ca, servertest.PEM("CERTIFICATE", a.Cert.Raw))
	n := newSecureServer(t, a, slog.New(slog.DiscardHandler), ca)
	url := "https://" + n.addr + "/healthz"
	shows := func(by *servertest.Authority) func(*tls.Config) {
		return func(c *tls.Config) {
			cert, key := by.Leaf(servertest.InAYear())
			pair, err := tls.X509KeyPair(cert, key)
			fatal.If(t, err)
			c.Certificates = []tls.Certificate{pair}
		}
	}
	for _, c := range []struct {
		name    string
		change  func(*tls.Config)
		welcome bool
	}{{"no certificate", nil, false}, {"a foreign certificate", shows(stranger), false}, {"a valid certificate", shows(a), true}} {
		reply, err := secureClient(t, a, c.change).Get(url)
		if err == nil {
			reply.Body.Close()
		}
		if (err == nil) != c.welcome {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
