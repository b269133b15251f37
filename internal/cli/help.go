package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// globalFlags is the group of the flags that every command has.
var globalFlags = kong.Group{Key: "global", Title: "Flags of every command:"}

// printHelp prints the help of a command. The flags of every command come
// last. kong would print the flags of the root first, so printHelp moves them
// to the command. It prints the other names of the command as a sentence of
// their own: kong would write them into its path.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	root, command := ctx.Model.Node, ctx.Selected()
	if command == nil {
		options.ValueFormatter = firstSentence
	} else {
		command.Flags, root.Flags = append(command.Flags, root.Flags...), nil
		if command.Parent.Name == "postgres" { // it accepts a configuration file, and uses only the store in it
			command.Flags = slices.DeleteFunc(slices.Clone(command.Flags), func(f *kong.Flag) bool {
				return f.Group != nil && strings.HasPrefix(f.Group.Key, "serve-") && f.Name != "config" && f.Name != "store"
			})
		}
		if names := otherNames(command); names != "" {
			command.Detail = strings.TrimSpace(command.Detail + "\n\n" + names)
		}
	}
	withoutAliases(root)
	return kong.DefaultHelpPrinter(options, ctx)
}

// firstSentence shortens the help of a flag for the help of foliot itself, which
// must stay short. It leaves out the default.
func firstSentence(v *kong.Value) string {
	first, _, _ := strings.Cut(v.Help, ". ")
	first, _, _ = strings.Cut(first, " (default")
	return strings.TrimSuffix(first, ".") + "."
}

func otherNames(command *kong.Node) string {
	if len(command.Aliases) == 0 {
		return ""
	}
	return "Other names: " + strings.Join(command.Aliases, ", ") + "."
}

func withoutAliases(node *kong.Node) {
	node.Aliases = nil
	for _, child := range node.Children {
		withoutAliases(child)
	}
}

// nameOf returns the words of a command, such as "foliot cron add", without
// aliases.
func nameOf(command *kong.Node) string {
	if command.Parent == nil {
		return command.Name
	}
	return nameOf(command.Parent) + " " + command.Name
}

// helpOf returns the help text of a value with its variable, and with its
// default unless the text already names it.
func helpOf(v *kong.Value) string {
	if v.HasDefault && v.Default != "" && !v.IsBool() && !strings.Contains(v.Help, "(default: ") {
		return kong.DefaultHelpValueFormatter(&kong.Value{
			Help: strings.TrimSuffix(v.Help, ".") + fmt.Sprintf(" (default: %s).", v.Default), OrigHelp: v.OrigHelp, Tag: v.Tag,
		})
	}
	return kong.DefaultHelpValueFormatter(v)
}
