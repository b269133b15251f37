// Command site checks the docs site that `make site` has built.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: site DIR")
		os.Exit(2)
	}
	pages, broken, err := check(os.DirFS(os.Args[1]))
	if err != nil {
		fmt.Fprintf(os.Stderr, "site: %v\n", err)
		os.Exit(1)
	}
	for _, b := range broken {
		fmt.Fprintln(os.Stderr, b)
	}
	if len(broken) > 0 {
		fmt.Fprintf(os.Stderr, "site: %d faults\n", len(broken))
		os.Exit(1)
	}
	fmt.Printf("%d pages with titles, an icon and a next page; each link between them leads to a page and a heading\n", pages)
}
