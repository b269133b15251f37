package webhook_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/webhook"
)

// A receiver, and a test that sends it a signed callback.
func Example() {
	secrets := []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} // two during a rotation
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event, err := webhook.Read(secrets, r, webhook.Options{})
		if err != nil {
			fmt.Println("forged:", errors.Is(err, webhook.ErrUntrusted))
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		fmt.Printf("%s, attempt %d: %s\n", event.Task, event.Attempt, event.Body)
	}))
	defer receiver.Close()

	id, now, body := "0198c0de-0000-7000-8000-000000000042", time.Now(), `{"order":42}`
	signature, err := webhook.Sign(secrets, id, now, []byte(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, sent := range []string{body, `{"order":43}`} {
		r, _ := http.NewRequest(http.MethodPost, receiver.URL, strings.NewReader(sent))
		r.Header.Set(webhook.HeaderID, id)
		r.Header.Set(webhook.HeaderTimestamp, strconv.FormatInt(now.Unix(), 10))
		r.Header.Set(webhook.HeaderSignature, signature)
		r.Header.Set(webhook.HeaderTask, "order-42")
		r.Header.Set(webhook.HeaderAttempt, "1")
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			fmt.Println(err)
			return
		}
		reply.Body.Close()
		fmt.Println(reply.Status)
	}
	// Output:
	// order-42, attempt 1: {"order":42}
	// 200 OK
	// forged: true
	// 401 Unauthorized
}
