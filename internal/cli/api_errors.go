package cli

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/wire"
)

// The server speaks of its API: of fields, parameters and headers. What stands
// here says it in the words of the command line, on which somebody was wrong.

// called is what has another name on the command line than in the API, where
// the command has it.
var called = map[string]string{
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
	"labels":             "--label",
}

// reworded is what the API's sentences say of HTTP and JSON.
var reworded = strings.NewReplacer(
	"leave the header out", "leave it out",
	"leave the field out", "leave it out",
	"a "+wire.NamespaceHeader+" ", "a namespace ",
	"GET /v1/queues lists", "`foliot queue ls` lists",
	"GET /v1/schedules lists", "`foliot cron ls` lists",
	"GET /v1/cluster lists", "`foliot cluster nodes` lists",
	`{"namespace": "*", "scope": "admin"}`, "--for operator --scope admin",
	": authorization: Bearer foliot_…", "",
	"the header is Bearer and a token, which begins", "a token begins",
)

// snake is the form of a name in the API that is several words.
var snake = regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`)

// inWords returns the text of err, with what the server says in the words of the command.
func inWords(err error, command *kong.Node) string {
	var refused *client.Error
	if command == nil || !errors.As(err, &refused) {
		return err.Error()
	}
	said := *refused
	if said.Field == "Authorization" { // the sentence says it
		said.Field = ""
	}
	detail := reworded.Replace(said.Detail)
	if rest, ok := strings.CutPrefix(detail, lastOf(said.Field)+" "); ok {
		detail = "it " + rest
	}
	said.Detail = snake.ReplaceAllStringFunc(detail, func(name string) string {
		if flag := dashed(name); takes(command, flag) {
			return flag
		}
		return name
	})
	if place := placeOf(command, said.Field); place != "" {
		said.Field = place
		if refusalCode(refused) == exitUsage {
			said.Op = "" // as of what is found wrong here
		}
	}
	return strings.Replace(err.Error(), refused.Error(), said.Error(), 1)
}

// placeOf returns the flag or the argument of the command that fills a field, "" where none does.
func placeOf(command *kong.Node, field string) string {
	field = strings.TrimPrefix(field, "task.") // of a schedule
	for _, many := range []string{"http.headers", "labels"} {
		if key, ok := strings.CutPrefix(field, many+"."); ok && takes(command, called[many]) {
			return called[many] + " " + key
		}
	}
	name := lastOf(field)
	for _, place := range []string{called[field], strings.ToUpper(name), dashed(name)} {
		if takes(command, place) {
			return place
		}
	}
	return ""
}

// lastOf returns the last word of a field's path.
func lastOf(field string) string { return field[strings.LastIndexByte(field, '.')+1:] }

// dashed returns the flag that has a field's name.
func dashed(name string) string { return "--" + strings.ReplaceAll(name, "_", "-") }

// takes reports whether the command takes a flag, or an argument in capitals.
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
