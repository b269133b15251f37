package api_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// The document is compressed once, and not sent again to clients that have it.
func TestTheDocumentIsCompressedAndTagged(t *testing.T) {
	s := serve(t)
	plain := s.do("GET", "/openapi.json", "").want(200, nil)
	if plain.header.Get("Content-Encoding") != "" || plain.header.Get("ETag") == "" || plain.header.Get("Vary") != "Accept-Encoding" {
		t.Error(plain.header)
	}
	for accepts, compressed := range map[string]bool{"gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0": false, "deflate": false, "xgzip": false} {
		r := s.do("GET", "/openapi.json", "", "Accept-Encoding: "+accepts).want(200, nil)
		if (r.header.Get("Content-Encoding") == "gzip") != compressed {
			t.Errorf("%s: %v", accepts, r.header)
		}
		if !compressed {
			continue
		}
		zr, err := gzip.NewReader(bytes.NewReader(r.body))
		fatal.If(t, err)
		if got, err := io.ReadAll(zr); err != nil || !bytes.Equal(got, plain.body) || len(r.body) > len(plain.body)/4 {
			t.Errorf("%d bytes of %d, %v", len(r.body), len(plain.body), err)
		}
	}
	if r := s.do("GET", "/openapi.json", "", "If-None-Match: "+plain.header.Get("ETag")); r.status != 304 || len(r.body) != 0 {
		t.Errorf("%d with %d bytes", r.status, len(r.body))
	}
}
