// Command openapi generates a client in TypeScript or Python from an OpenAPI
// document alone: it knows nothing of Foliot.
//
//	curl -s http://127.0.0.1:8750/openapi.json | go run -C examples ./openapi -lang typescript >foliot.ts
//	curl -s http://127.0.0.1:8750/openapi.json | go run -C examples ./openapi -lang python >foliot.py
//
// It reads the parts of OpenAPI 3.1 that Foliot's document uses, and ends with
// an error at any other part. The generated code needs no library: only fetch,
// or the standard library of Python 3.11 or newer. You can use any other
// generator too. This one is short, and shows that the document is sufficient.
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
		return fmt.Errorf("unknown language %q: use typescript or python", lang)
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
