package directory

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	oldSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

// signedBy returns the headers of a callback that a secret has signed.
func signedBy(t *testing.T, secret string, body []byte) http.Header {
	t.Helper()
	w, err := webhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	signature, err := w.Sign("id", now, body)
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{}
	h.Set("Webhook-Id", "id")
	h.Set("Webhook-Timestamp", fmt.Sprint(now.Unix()))
	h.Set("Webhook-Signature", signature)
	return h
}

func TestAVerifierAcceptsOnlyTheCurrentSecret(t *testing.T) {
	body := []byte(`{"order":42}`)
	by := func(secrets ...string) http.Header {
		h := signedBy(t, secrets[0], body)
		for _, s := range secrets[1:] {
			h.Set("Webhook-Signature", h.Get("Webhook-Signature")+" "+signedBy(t, s, body).Get("Webhook-Signature"))
		}
		return h
	}
	newRing := func() *verifier {
		r := &verifier{}
		for _, s := range []string{oldSecret, newSecret} {
			if err := r.replace(s); err != nil {
				t.Fatal(err)
			}
		}
		return r
	}
	type counts struct{ accepted, rejected, stale, double int }
	for name, c := range map[string]struct {
		header http.Header
		ended  time.Duration // the time since the end of the retired secret; zero means that it has not ended
		want   counts
	}{
		"by the new one":              {by(newSecret), 0, counts{accepted: 1}},
		"by both":                     {by(newSecret, oldSecret), 0, counts{accepted: 1, double: 1}},
		"by the old one alone":        {by(oldSecret), 0, counts{rejected: 1}},
		"by nobody":                   {http.Header{}, 0, counts{rejected: 1}},
		"by both after the old's end": {by(newSecret, oldSecret), time.Second, counts{accepted: 1, stale: 1, double: 1}},
		"by both before it":           {by(newSecret, oldSecret), -time.Hour, counts{accepted: 1, double: 1}},
	} {
		r := newRing()
		if c.ended != 0 {
			r.retire(time.Now().Add(-c.ended))
		}
		status := r.judge("a", c.header, body, time.Now())
		v := r.seen()
		if got := (counts{v.Accepted, v.Rejected.Count, v.Stale.Count, v.Double}); got != c.want {
			t.Errorf("%s: the counts are %+v, want %+v", name, got, c.want)
		}
		if (status == http.StatusOK) != (c.want.accepted == 1) {
			t.Errorf("%s: it answers %d", name, status)
		}
	}
}
