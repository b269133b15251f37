package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// sumsFile has a line for each other file, as sha256sum writes and checks it.
const sumsFile = "checksums.txt"

// sums writes sumsFile.
func (r *release) sums() error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), f.Name())
	}
	return os.WriteFile(filepath.Join(r.out, sumsFile), text.Bytes(), 0o644)
}

// sign signs sumsFile with a test key: the signature in base64, as cosign
// writes it, and the public key. The signature depends on the key and the file
// alone (RFC 6979).
func (r *release) sign(keyFile string) error {
	key, err := testKey(keyFile)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(r.out, sumsFile))
	if err != nil {
		return err
	}
	digest := sha256.Sum256(sums)
	signature, err := key.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(r.out, sumsFile+".sig"), []byte(base64.StdEncoding.EncodeToString(signature)+"\n"), 0o644),
		os.WriteFile(filepath.Join(r.out, sumsFile+".pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o644),
	)
}

// testKey reads a private key of the curve P-256, or makes one.
func testKey(file string) (*ecdsa.PrivateKey, error) {
	if file == "" {
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block: make the key with `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`", file)
	}
	any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	key, ok := any.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%s holds no private key of the curve P-256", file)
	}
	return key, nil
}
