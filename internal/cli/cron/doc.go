// Package cron has the commands of foliot cron, which manage schedules. A file
// is named after its command. Package internal/cron has the expressions.
package cron
