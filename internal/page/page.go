package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed dist
var dist embed.FS

// policy is the content security policy of the page: scripts come only from the
// server, and requests go only there. No text can become code, because names,
// URLs and replies of receivers are the text of strangers.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// mediaTypes are the types of the files by extension. The type that the
// operating system has for .js may be wrong.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
}

// file is one file of the page, ready to be sent.
type file struct {
	mediaType, tag string
	plain, zipped  []byte
	lasting        bool // its name changes with its content
}

// files returns the files by name, compressed at the first call.
var files = sync.OnceValue(func() map[string]*file {
	all := map[string]*file{}
	entries, err := fs.ReadDir(dist, "dist")
	if err != nil {
		panic(err) // the folder is a part of the program
	}
	for _, e := range entries {
		content, err := fs.ReadFile(dist, "dist/"+e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		all[e.Name()] = &file{
			mediaType: mediaTypes[path.Ext(e.Name())], tag: `"` + hex.EncodeToString(sum[:8]) + `"`,
			plain: content, zipped: compress(content), lasting: e.Name() != "index.html",
		}
	}
	return all
})

func compress(content []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // never an error: the level is valid
	_, _ = w.Write(content)                                 // never an error: out is in memory
	_ = w.Close()
	return out.Bytes()
}

// Handler serves the files of the page by the last element of the path, or the
// page itself if the path ends with a slash.
func Handler() http.Handler { return http.HandlerFunc(serve) }

func serve(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if name == "" {
		name = "index.html"
	}
	f := files()[name]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	header.Set("Content-Type", f.mediaType)
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-cache")
	if f.lasting {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	header.Set("ETag", f.tag)
	header.Set("Vary", "Accept-Encoding")
	content := f.plain
	if accepted := strings.ReplaceAll(r.Header.Get("Accept-Encoding"), " ", ""); strings.Contains(accepted, "gzip") && !strings.Contains(accepted, "gzip;q=0") {
		header.Set("Content-Encoding", "gzip")
		header.Set("ETag", strings.TrimSuffix(f.tag, `"`)+`-gzip"`)
		content = f.zipped
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
