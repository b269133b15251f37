package directory

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/foliot/foliot/test/battery/verify"
	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// verifier has the signing secrets of a receiver: the current one, and the one
// before, which the receiver no longer trusts. It verifies with the official
// library. Many goroutines may use a verifier.
type verifier struct {
	mu      sync.Mutex // guards everything below
	known   *webhooks.Webhook
	retired *webhooks.Webhook
	ended   time.Time // after this the retired one must sign nothing; zero means no such time

	counts verifierCounts
}

// verifierCounts counts the results of a verifier.
type verifierCounts struct {
	Accepted int
	Rejected verify.Offences // callbacks that the known secret had not signed
	Stale    verify.Offences // callbacks that the retired secret signed after its end
	Double   int             // callbacks with two signatures
}

// replace makes the verifier trust another secret and nothing else.
func (r *verifier) replace(secret string) error {
	w, err := webhooks.NewWebhook(secret)
	if err != nil {
		return fmt.Errorf("read a signing secret: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.retired, r.ended = w, r.known, time.Time{}
	return nil
}

// retire sets the time after which the secret before the current one must sign
// nothing.
func (r *verifier) retire(from time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = from
}

// accept returns the status that the receiver answers. It is 401 if the current
// secret did not sign the callback.
func (r *verifier) accept(req *http.Request) int {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return http.StatusBadRequest
	}
	return r.judge(req.Header.Get("Foliot-Task"), req.Header, body, time.Now())
}

func (r *verifier) judge(name string, h http.Header, body []byte, now time.Time) int {
	r.mu.Lock()
	known, retired, ended := r.known, r.retired, r.ended
	r.mu.Unlock()
	stale := retired != nil && !ended.IsZero() && now.After(ended) && retired.Verify(body, h) == nil
	err := known.Verify(body, h)
	r.mu.Lock()
	defer r.mu.Unlock()
	if stale {
		r.counts.Stale.Add("%s, %v after its end", name, now.Sub(ended))
	}
	if strings.Contains(h.Get(webhooks.HeaderWebhookSignature), " ") {
		r.counts.Double++
	}
	if err != nil {
		r.counts.Rejected.Add("%s: %v", name, err)
		return http.StatusUnauthorized
	}
	r.counts.Accepted++
	return http.StatusOK
}

func (r *verifier) seen() verifierCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}
