package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.repository, "repository", ".", "the clone with the commit")
	flag.StringVar(&o.out, "out", "dist", "the directory for the files; its old files are removed")
	flag.BoolVar(&o.snapshot, "snapshot", false, "allow a commit without a tag")
	flag.StringVar(&o.version, "version", "", "the tag of the release, such as v1.2.3: fail if the commit has another version")
	platforms := flag.String("platforms", "all", "the platforms, separated by commas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if o.platforms, err = parsePlatforms(*platforms); err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	repository string
	out        string
	snapshot   bool
	version    string
	platforms  []platform
}

// platform is a system and a processor, in the words of Go.
type platform struct{ os, arch string }

// allPlatforms are those of a release.
var allPlatforms = []platform{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

func (p platform) String() string { return p.os + "/" + p.arch }

// binary returns the name of the program.
func (p platform) binary() string {
	if p.os == "windows" {
		return "foliot.exe"
	}
	return "foliot"
}

func parsePlatforms(list string) ([]platform, error) {
	if list == "all" {
		return allPlatforms, nil
	}
	var some []platform
	for name := range strings.SplitSeq(list, ",") {
		known := false
		for _, p := range allPlatforms {
			if p.String() == name {
				some, known = append(some, p), true
			}
		}
		if !known {
			return nil, fmt.Errorf("unknown platform %q: the platforms are %v", name, allPlatforms)
		}
	}
	return some, nil
}
