package page

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

func get(t *testing.T, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	fatal.If(t, err)
	return string(b)
}

// names returns the files that index.html needs.
func names(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]+\.(?:js|css))"`).FindAllStringSubmatch(body(t, get(t, "/ui/")), -1) {
		found = append(found, m[1])
	}
	if len(found) < 2 {
		t.Fatalf("index.html needs only %q", found)
	}
	return found
}

func TestThePageWorksUnderEveryPathOfAProxy(t *testing.T) {
	for _, name := range names(t) {
		if strings.Contains(name, "/") {
			t.Errorf("index.html needs %q, which is not relative to the page", name)
		}
		if r := get(t, "/some/sub/path/ui/"+name); r.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", name, r.StatusCode)
		}
	}
}

func TestFilesWithAHashInTheirNameAreKeptForever(t *testing.T) {
	for _, name := range names(t) {
		if got := get(t, "/ui/"+name).Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
			t.Errorf("%s: Cache-Control is %q", name, got)
		}
	}
	index := get(t, "/ui/")
	if got := index.Header.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("index.html: Cache-Control is %q, so a browser may never see a new version", got)
	}
	if again := get(t, "/ui/", "If-None-Match", index.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("index.html was sent again with status %d, although the browser has it", again.StatusCode)
	}
}

func TestThePolicyForbidsForeignCode(t *testing.T) {
	for _, path := range append(names(t), "") {
		policy := get(t, "/ui/"+path).Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("/ui/%s: the policy %q has no %s", path, policy, part)
			}
		}
		if strings.Contains(policy, "unsafe") {
			t.Errorf("/ui/%s: the policy %q is unsafe", path, policy)
		}
	}
}

func TestTheCompressedFileIsTheFile(t *testing.T) {
	for _, name := range append(names(t), "") {
		plain := body(t, get(t, "/ui/"+name))
		r := get(t, "/ui/"+name, "Accept-Encoding", "br, gzip")
		if r.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("/ui/%s is not compressed", name)
		}
		unzipped, err := gzip.NewReader(r.Body)
		fatal.If(t, err)
		content, err := io.ReadAll(unzipped)
		if err != nil || string(content) != plain {
			t.Errorf("/ui/%s: the compressed file has other content (%v)", name, err)
		}
		if r := get(t, "/ui/"+name, "Accept-Encoding", "gzip;q=0"); r.Header.Get("Content-Encoding") != "" {
			t.Errorf("/ui/%s is compressed for a client that refuses it", name)
		}
	}
}

// The sizes are those that a browser loads.
func TestThePageIsSmall(t *testing.T) {
	const first, all = 30 << 10, 110 << 10
	loaded, total := 0, 0
	for _, name := range append(names(t), "index.html") {
		loaded += len(files()[name].zipped)
	}
	for _, f := range files() {
		total += len(f.zipped)
	}
	t.Logf("%d bytes before the first paint, %d in all", loaded, total)
	if loaded > first {
		t.Errorf("%d bytes are loaded before the first paint, more than %d", loaded, first)
	}
	if total > all {
		t.Errorf("the page has %d bytes, more than %d", total, all)
	}
}

func TestAnUnknownFileIsNotFound(t *testing.T) {
	if r := get(t, "/ui/unknown.js"); r.StatusCode != http.StatusNotFound {
		t.Errorf("status %d", r.StatusCode)
	}
}
