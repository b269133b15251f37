package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates for tests.
type Authority struct {
	t    *testing.T
	Cert *x509.Certificate
	key  *ecdsa.PrivateKey
	made int64
}

func NewAuthority(t *testing.T) *Authority {
	t.Helper()
	a := &Authority{t: t}
	a.Cert, a.key = a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, nil, nil)
	return a
}

func (a *Authority) sign(want, parent *x509.Certificate, by *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
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
	want.Subject = pkix.Name{CommonName: "test " + want.SerialNumber.String()} // OpenSSL takes a certificate with the name of its signer for self-signed
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

// Leaf returns a certificate for 127.0.0.1 that is valid until end, and its key, in
// PEM.
func (a *Authority) Leaf(end time.Time) (cert, key []byte) {
	a.t.Helper()
	c, k := a.sign(&x509.Certificate{
		NotAfter: end, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.Cert, a.key)
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	return PEM("CERTIFICATE", c.Raw), PEM("PRIVATE KEY", der)
}

func PEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.Cert)
	return p
}

// KeyFiles has the paths of a certificate and its key.
type KeyFiles struct{ Cert, Key string }

// Files writes a certificate that is valid until end, and its key, into a new
// directory.
func (a *Authority) Files(end time.Time) KeyFiles {
	a.t.Helper()
	dir := a.t.TempDir()
	f := KeyFiles{Cert: filepath.Join(dir, "crt.pem"), Key: filepath.Join(dir, "key.pem")}
	a.Renew(f, end)
	return f
}

// Renew writes a new certificate and key into the files.
func (a *Authority) Renew(f KeyFiles, end time.Time) {
	a.t.Helper()
	cert, key := a.Leaf(end)
	WriteFile(a.t, f.Cert, cert)
	WriteFile(a.t, f.Key, key)
}

func WriteFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// InAYear returns the time in one year, as an end for certificates.
func InAYear() time.Time { return time.Now().Add(365 * 24 * time.Hour).Truncate(time.Second) }
