// Package browser tests the web page of the binary in a real browser: chromium
// from the packages of the system. It is a module of its own, so that users of
// Foliot do not download the library that drives the browser.
//
// testdata/axe.min.js is axe-core 4.14.1 as its authors published it. It finds
// violations of the rules for accessible pages.
package browser
