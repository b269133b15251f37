package main

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// authorities returns the certificates of the public authorities that the image
// trusts, in PEM. They are Mozilla's, in the version of the Go module in go.mod,
// so the bytes do not depend on the machine that builds. Authorities that are
// trusted only for a part of their certificates are left out: PEM cannot express
// this.
func authorities() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // into memory
		}
	}
	return all.Bytes()
}
