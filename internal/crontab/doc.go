// Package crontab parses crontabs. It returns the URLs that their lines call, and
// the times.
//
// The package is pure. It returns a note for each line that it cannot use, or
// that means something else in Foliot. It runs no program, and reads no file
// except the time zone database.
//
// # Lines
//
//   - Blank lines, and comments that begin with #. The comment "# name: nightly"
//     names the schedule of the next line.
//   - CRON_TZ=Europe/Berlin sets the time zone of the lines below it. If the zone
//     is unknown, those lines are errors. Without CRON_TZ=, TZ= sets the zone too,
//     with a warning, because most crons use TZ= only for the command. Other
//     assignments get a warning, because no program runs that could read them.
//   - A time and a command. The time has five fields, or is a word such as @daily;
//     see package cron. A system crontab has a user between them.
//
// # Commands
//
// A command is a URL, or calls curl or wget with one URL. Options can set the
// request. Options about output and retries are ignored.
//
// Words are quoted as in a shell. The output may be redirected to files, which are
// not written. Whatever else a shell would interpret is an error, because the
// request must be the one that the line says. As in cron, \% means %. A % without
// a backslash would mean a newline.
package crontab
