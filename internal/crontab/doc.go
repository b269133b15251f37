// Package crontab reads crontabs, and says which URLs their lines call and when.
//
// It is pure: text comes in, and what it means goes out, with a note for each
// line that cannot be taken or that means something else here. Nothing is run,
// and no file is read but the time zone database.
//
// # Lines
//
//   - Blank ones, and comments: # stands first. "# name: nightly" names what the
//     next line makes.
//   - CRON_TZ=Europe/Berlin is the time zone of the lines below it; where it is
//     unknown, they cannot be taken. TZ= is, too, where there is no CRON_TZ=;
//     most crons take it for the command alone, so that is noted. Other assignments are noted: nothing is run that could read them.
//   - Five fields or a word, such as @daily, as package cron has them, and the
//     command. In a system's crontab a user stands between them.
//
// # Commands
//
// A command is a URL, or a line of curl or wget that a program can be sure of:
// one URL, and options that are about the request, or about output, which there
// is none of. In front of it may stand programs that run another: timeout and
// flock -n say something of the call, nice and the like nothing. Words are quoted
// as in a shell. What a shell would put in the place of something ($VAR, `date`),
// pipes, lists and input are refused, but for "|| true" and & at the end; output
// may be redirected, and goes nowhere. \% is %, which alone would be a newline, as
// cron has it.
package crontab
