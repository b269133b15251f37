package exit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/wire"
)

// A problem of the API names fields, parameters and headers. The functions here
// name flags, arguments and commands instead. They depend on the code and the
// fields of a problem, never on the words of its detail.

// flagNames maps fields of the API to flags and arguments with other names.
var flagNames = map[string]string{
	wire.NamespaceHeader: "--namespace",
	"Host":               "--server",
	"delay":              "--in",
	"expires_in":         "--expires",
	"from":               "--since",
	"namespace":          "--for",
	"http.url":           "URL",
	"http.headers":       "--header",
	"http.body":          "--data, --json",
	"http.body_base64":   "--data, --json",
	"work.kind":          "--kind",
	"work.args":          "--args",
	"labels":             "--label",
}

// listedBy maps kinds of records to the commands that list them.
var listedBy = map[string]string{
	"queue":    "foliot queue ls",
	"schedule": "foliot cron ls",
	"node":     "foliot cluster nodes",
	"token":    "foliot token ls",
	"secret":   "foliot secret ls",
}

// Words are the words of a command for its errors.
type Words struct {
	Command   *kong.Node    // its flags and arguments; nil keeps the words of the server
	Namespace func() string // the namespace in which it acted; "" if it is unknown
}

// namespace returns the end of a sentence that names the namespace.
func (w Words) namespace() string {
	if w.Namespace != nil {
		if name := w.Namespace(); name != "" {
			return " in the namespace " + name
		}
	}
	return ""
}

// sentence returns what is wrong, without the field. It returns the server's
// detail if that has nothing of HTTP and JSON.
func (w Words) sentence(e *client.Error) string {
	switch e.Code {
	case "token_required":
		return "this server requires a token"
	case "token_malformed":
		return "the token has a typing error or is not from Foliot: a token begins with foliot_"
	case "wrong_namespace":
		return "the token belongs to another namespace: leave it out"
	case "first_token":
		return "the first token must be an operator's, or no token could manage the server: --for operator --scope admin"
	case "last_node":
		return "no other live node may own shards, so no tasks would be delivered: start or undrain another node first, or pass --force"
	case "unknown_namespace":
		if e.Name != "" {
			return fmt.Sprintf("there is no namespace %q: `foliot namespace ls` lists the existing ones, and `foliot namespace set` creates one", e.Name)
		}
	case "task_finished":
		if !strings.HasPrefix(e.Op, "retry ") { // its detail has another remedy
			return fmt.Sprintf("the task is %s and cannot change: to create it again, run `foliot add` with its --name and --replace", e.State)
		}
	case "not_found": // the missing record may exist in another namespace
		switch list := listedBy[e.Kind]; {
		case e.Kind == "task":
			return fmt.Sprintf("no such task%s: it was never created, or its record was removed; `foliot ls` lists the existing ones", cmp.Or(w.namespace(), " in this namespace"))
		case e.Kind == "node" || e.Kind == "token":
			return fmt.Sprintf("there is no %s %q: `%s` lists the existing ones", e.Kind, e.Name, list)
		case list != "":
			return fmt.Sprintf("there is no %s %q%s: `%s` lists the existing ones", e.Kind, e.Name, w.namespace(), list)
		}
	}
	return e.Detail
}

// interrupted is the text of all errors after an interrupt.
const interrupted = "interrupted"

// reword returns the text of err. It describes a refusal with the flags and
// arguments of the command.
func (w Words) reword(err error) string {
	if errors.Is(err, context.Canceled) {
		return interrupted
	}
	var refused *client.Error
	if w.Command == nil || !errors.As(err, &refused) {
		return err.Error()
	}
	shown := *refused
	shown.Detail = w.sentence(refused)
	if shown.Field == "Authorization" { // the sentence names the token
		shown.Field = ""
	}
	if place := placeOf(w.Command, shown.Field); place != "" {
		shown.Field = place
		if RefusalCode(refused) == Usage {
			shown.Op = "" // as in an error of a flag that is found here
		}
	}
	return strings.Replace(err.Error(), refused.Error(), shown.Error(), 1)
}

// placeOf returns the flag or the argument of the command that sets a field, ""
// if none does.
func placeOf(command *kong.Node, field string) string {
	field = strings.TrimPrefix(field, "task.") // of a schedule
	for _, many := range []string{"http.headers", "labels"} {
		if key, ok := strings.CutPrefix(field, many+"."); ok && takes(command, flagNames[many]) {
			return flagNames[many] + " " + key
		}
	}
	name := wording.FieldName(field)
	for _, place := range []string{flagNames[field], strings.ToUpper(name), wording.FlagName(name)} {
		if takes(command, place) {
			return place
		}
	}
	return ""
}

// takes reports whether the command has this flag, or this argument in
// capitals.
func takes(command *kong.Node, place string) bool {
	first, _, _ := strings.Cut(place, ",")
	name, isFlag := strings.CutPrefix(first, "--")
	if !isFlag {
		return slices.ContainsFunc(command.Positional, func(a *kong.Positional) bool { return strings.ToUpper(a.Name) == first })
	}
	for node := command; node != nil; node = node.Parent {
		if slices.ContainsFunc(node.Flags, func(f *kong.Flag) bool { return f.Name == name }) {
			return true
		}
	}
	return false
}
