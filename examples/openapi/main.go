// Command openapi writes a client in TypeScript or Python from an OpenAPI document, and from nothing else: its reader knows no word of Foliot's.
//
//	curl -s http://127.0.0.1:8750/openapi.json | go run -C examples ./openapi -lang typescript >foliot.ts
//	curl -s http://127.0.0.1:8750/openapi.json | go run -C examples ./openapi -lang python >foliot.py
//
// It understands what Foliot's document uses of OpenAPI 3.1, and stops at what it does not understand. What it writes depends on no library:
// fetch, and Python's standard library from 3.11 on. Any other generator will do as well; this one is small enough to be read, and shows that the
// document is enough.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/foliot/foliot/examples/internal/command"
)

func main() {
	flags := flag.NewFlagSet("openapi", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: openapi -lang typescript|python <openapi.json\n\nWrites a client to standard output.")
		flags.PrintDefaults()
	}
	lang := flags.String("lang", "typescript", "the client's `language`: typescript or python")
	command.Parse(flags)
	if err := run(os.Stdin, os.Stdout, *lang); err != nil {
		log.Fatalln("openapi:", err)
	}
}

func run(in io.Reader, out io.Writer, lang string) error {
	languages := map[string]func(*api) string{"typescript": typescript, "python": python}
	write, known := languages[lang]
	if !known {
		return fmt.Errorf("no language %q: there are typescript and python", lang)
	}
	doc, err := read(in)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, write(doc))
	return err
}

// sorted returns the keys of a map in their order.
func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
