package api

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/foliot/foliot/internal/store/memstore"
)

// parts is a body that arrives in parts. It calls next before each part.
type parts struct {
	io.Reader
	next func()
}

func (p parts) Read(b []byte) (int, error) {
	p.next()
	return p.Reader.Read(b[:1])
}

// A large body arrives in thousands of parts. It must not wait for a place
// after each of them: on a busy server it would not arrive in time.
func TestABodyInManyPartsWaitsForAPlaceOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{}, memstore.New(memstore.Config{}))
		taken, all := 0, 0
		body := parts{strings.NewReader(`{"delay": "1h", "http": {"url": "https://example.com/"}}`), func() {
			for all++; taken < cap(s.places); taken++ { // other requests take every place
				s.places <- struct{}{}
			}
		}}
		r := httptest.NewRequest("POST", "http://localhost/v1/tasks", body)
		r.Header.Set("Content-Type", "application/json")
		w, done := httptest.NewRecorder(), make(chan struct{})
		go func() {
			s.ServeHTTP(w, r)
			close(done)
		}()
		synctest.Wait()
		if all < 50 {
			t.Errorf("the body waits for a place after %d of its parts", all)
		}
		for range cap(s.places) {
			<-s.places
		}
		<-done
		if w.Code != 201 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}
