package apply

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/cli/manifest"
	"github.com/foliot/foliot/internal/redact"
)

// print prints the changes: one line for each object that is created or
// deleted, and one for each field of a changed object.
func (p *plan) print(con *console.Console) error {
	for _, ch := range slices.Concat(p.changes, p.blocked) {
		for i, d := range ch.Fields {
			ch.Fields[i] = withoutSecret(d)
		}
		switch {
		case con.JSON:
			if err := con.Object(ch); err != nil {
				return err
			}
		case ch.Refused != "":
			con.Linef("! %s cannot be %sd: %s", ch.Key, ch.Action, ch.Refused)
		case ch.Action == created:
			con.Linef("+ %s", ch.Key)
		case ch.Action == deleted:
			con.Linef("- %s", ch.Key)
		default:
			for _, d := range ch.Fields {
				con.Linef("~ %s %s %s -> %s", ch.Key, d.Field, shown(d.Field, d.From), shown(d.Field, d.To))
			}
		}
	}
	return nil
}

// maxShown bounds the characters of a value in a line of text.
const maxShown = 80

// shown returns the value of a field for a line of text. Text without spaces
// needs no quotes, and neither does the size of a body.
func shown(field string, value json.RawMessage) string {
	if value == nil {
		return "(default)"
	}
	text := string(value)
	var plain string
	if json.Unmarshal(value, &plain) == nil && (manifest.IsBody(field) || plain != "" && !strings.ContainsAny(plain, " \t\r\n\"")) {
		text = plain
	}
	if all := []rune(text); len(all) > maxShown {
		text = string(all[:maxShown]) + "…"
	}
	return text
}

// secretWords are parts of the names of headers whose values are not printed.
var secretWords = []string{"auth", "cookie", "cred", "key", "pass", "secret", "session", "sign", "token"}

// withoutSecret returns a difference without values that can be secret: the
// output of apply is often kept in the logs of a build. Of a body it has only
// the size.
func withoutSecret(d manifest.Difference) manifest.Difference {
	if manifest.IsBody(d.Field) {
		from, to := sizeOf(d.Field, d.From, "bytes"), sizeOf(d.Field, d.To, "bytes")
		if string(from) == string(to) {
			to = sizeOf(d.Field, d.To, "other bytes")
		}
		d.From, d.To = from, to
		return d
	}
	header, isHeader := strings.CutPrefix(d.Field, "task.http.headers.")
	hide := isHeader && slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(header, word) })
	clean := func(value json.RawMessage) json.RawMessage {
		switch {
		case value == nil:
			return nil
		case hide:
			return json.RawMessage(`"[redacted]"`)
		}
		return withoutCredentials(value)
	}
	d.From, d.To = clean(d.From), clean(d.To)
	return d
}

// withoutCredentials hides tokens and passwords in a text, such as a URL.
func withoutCredentials(value json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return value
	}
	clean := redact.Text(text)
	if clean == text {
		return value
	}
	encoded, err := json.Marshal(clean)
	if err != nil {
		return json.RawMessage(`"[redacted]"`)
	}
	return encoded
}

func sizeOf(field string, value json.RawMessage, unit string) json.RawMessage {
	if value == nil {
		return nil
	}
	size := len(value)
	var text string
	if json.Unmarshal(value, &text) == nil {
		size = len(text)
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil && strings.HasSuffix(field, "_base64") {
			size = len(raw)
		}
	}
	return json.RawMessage(fmt.Sprintf("%q", fmt.Sprintf("[%d %s]", size, unit)))
}

// run makes the changes in their order, and stops at the first error.
func (p *plan) run(ctx context.Context, con *console.Console, server *server) error {
	made := map[action]int{}
	for _, ch := range p.changes {
		if err := ch.make(ctx, server); err != nil {
			p.report(con, made)
			if err = stopped(&ch, err); exit.CodeOf(err) == exit.Usage && len(made) > 0 {
				err = exit.With(exit.Failure, err) // the code 2 says that nothing was changed
			}
			return err
		}
		made[ch.Action]++
	}
	p.report(con, made)
	if n := len(p.blocked); n > 0 {
		return exit.With(exit.Conflict, fmt.Errorf("not %sd: %s: %s", p.blocked[0].Action, p.blocked[0].Key, p.blocked[0].Refused))
	}
	return exit.Applied(server.behind)
}

func (ch *change) make(ctx context.Context, server *server) error {
	if ch.Action == deleted {
		return server.remove(ctx, ch.Key, ch.condition)
	}
	return server.put(ctx, ch.to, ch.condition)
}

func (p *plan) report(con *console.Console, made map[action]int) {
	con.Notef("created %d, changed %d, deleted %d, unchanged %d", made[created], made[changed], made[deleted], p.unchanged)
}

func stopped(ch *change, err error) error {
	op := string(ch.Action) + " " + ch.Key.String()
	if errors.Is(err, client.ErrPrecondition) {
		return exit.With(exit.Conflict, fmt.Errorf("%s: another client has changed it since apply read it: run foliot apply again", op))
	}
	return fmt.Errorf("apply stopped early; repeat the command to continue: %w", exit.WithOp(err, op))
}
