package delivery

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/wording"
)

// AddRequest adds the rows of the request or of the call of a handler, the queue,
// the priority and labels.
func AddRequest(r *console.Rows, s *client.Spec) {
	if s.Work.Kind == "" {
		r.Add("request", strings.TrimSpace(s.HTTP.Method+" "+s.HTTP.URL))
	}
	for _, name := range slices.Sorted(maps.Keys(s.HTTP.Headers)) {
		r.Add("header", name+": "+s.HTTP.Headers[name])
	}
	r.Add("body", bodyWords(s.HTTP.Body))
	r.Add("kind", s.Work.Kind)
	r.Add("args", bodyWords(s.Work.Args))
	r.Add("queue", s.Queue)
	r.Add("priority", string(s.Priority))
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		r.Add("label", key+"="+s.Labels[key])
	}
}

// AddLimits adds the rows of the time limits, the retries and the dead notice.
func AddLimits(r *console.Rows, s *client.Spec) {
	r.Add("timeout", wording.Duration(s.Timeout))
	if s.ExpireAfter != client.Forever {
		r.Add("expire after", wording.Duration(time.Duration(s.ExpireAfter)))
	}
	r.Add("retry", retryWords(s.Retry))
	r.Add("on dead", s.OnDead.URL())
}

func bodyWords(b client.Body) string {
	switch {
	case b.IsZero():
		return ""
	case b.IsJSON():
		return string(b.Bytes())
	case b.IsText():
		var quoted strings.Builder
		_ = console.WriteJSON(&quoted, string(b.Bytes()), false) // a string can always be encoded
		return strings.TrimSpace(quoted.String())
	}
	return "base64 " + base64.StdEncoding.EncodeToString(b.Bytes())
}

func retryWords(r client.Retry) string {
	attempts := "any number of attempts"
	if r.MaxAttempts > 0 {
		attempts = "at most " + wording.Count(r.MaxAttempts, "attempt")
	}
	words := attempts + fmt.Sprintf(", %s to %s apart", wording.Span(r.MinBackoff), wording.Span(r.MaxBackoff))
	if r.MaxAge > 0 {
		words += ", for " + wording.Span(time.Duration(r.MaxAge))
	}
	return words
}

// AddAuthors adds the rows of a record's creation and of its last change.
func AddAuthors(r *console.Rows, created time.Time, a *client.Authors) {
	r.Add("created", wording.Instant(created)+by(a.CreatedBy))
	if !a.ChangedAt.IsZero() {
		r.Add("changed", wording.Instant(a.ChangedAt)+" "+a.ChangedAction+by(a.ChangedBy))
	}
}

func by(author string) string {
	if author == "" {
		return ""
	}
	return " by " + author
}
