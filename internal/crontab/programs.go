package crontab

import "errors"

// programs has the known options. Options that do not change the request are
// ignored: Foliot prints no output, asks no questions, retries by itself, and
// judges a reply by its status.
var programs = map[string]options{
	"curl": tableOf(curlRequest, curlIgnored, curlRefused),
	"wget": tableOf(wgetRequest, wgetIgnored, wgetRefused),
}

// known lists the options in errors.
var known = map[string]string{
	"curl":    "-X -d --data-raw --data-binary --json -H -A -e -b -m -I --url, and those of output and retries",
	"timeout": "-k -s -f -v --preserve-status",
	"flock":   "-n -x -e -o -F -E -c --verbose",
	"nice":    "-n",
	"ionice":  "-c -n -t",
	"nohup":   "none",
	"chronic": "-v -e",
	"wget":    "--method --post-data --body-data --header -U --referer -T --spider, and those of output and retries",
}

func setMethod(b *builder, value string) error {
	if value == "" {
		return errors.New("the method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")
	}
	b.method = value
	return nil
}

func setHead(b *builder, _ string) error { b.head = true; return nil }

func setUserAgent(b *builder, value string) error { return b.setHeader("User-Agent", value) }

func setReferer(b *builder, value string) error { return b.setHeader("Referer", value) }

// toFile warns that a file is not written.
func toFile(b *builder, value string) error {
	if value != "/dev/null" && value != "-" {
		b.warn(noFile, quote(value))
	}
	return nil
}

var curlRequest = []option{
	{"-X --request", true, setMethod},
	{"-I --head", false, setHead},
	{"-d --data --data-ascii --data-binary", true, (*builder).addDataOrFile},
	{"--data-raw", true, (*builder).addData},
	{"--json", true, func(b *builder, value string) error {
		b.isJSON = true
		return b.addDataOrFile(value)
	}},
	{"-H --header", true, (*builder).addHeader},
	{"-A --user-agent", true, setUserAgent},
	{"-e --referer", true, setReferer},
	{"-b --cookie", true, setCookie},
	{"-m --max-time", true, (*builder).setTimeout},
	{"--url", true, func(b *builder, value string) error { b.urls = append(b.urls, value); return nil }},
	{"-g --globoff", false, func(b *builder, _ string) error { b.glob = false; return nil }},
	{"-o --output", true, toFile},
	{"-L --location", false, func(b *builder, _ string) error {
		b.warn("redirects are not followed, and count as failures: give the URL to which it redirects")
		return nil
	}},
}

// setCookie sends the given cookies. A value without = is the name of a file, and
// is refused.
func setCookie(b *builder, value string) error {
	for _, c := range value {
		if c == '=' {
			return b.setHeader("Cookie", value)
		}
	}
	return noFileOf(value)
}

var curlIgnored = ignored(
	"-s --silent", "-S --show-error", "-f --fail", "--fail-with-body", "--fail-early", "-v --verbose", "-i --include --show-headers",
	"-q --disable", "-# --progress-bar", "--no-progress-meter", "-N --no-buffer", "--compressed", "-O --remote-name", "--create-dirs",
	"-w --write-out=", "--stderr=", "-D --dump-header=", "--trace=", "--trace-ascii=", "--trace-time", "--styled-output", "--no-styled-output",
	"--retry=", "--retry-delay=", "--retry-max-time=", "--retry-all-errors", "--retry-connrefused",
	"--connect-timeout=", "-y --speed-time=", "-Y --speed-limit=", "--max-redirs=", "--max-filesize=", "--limit-rate=",
	"-0 --http1.0", "--http1.1", "--http2", "--http2-prior-knowledge", "--http3", "-1 --tlsv1", "--tlsv1.0", "--tlsv1.1", "--tlsv1.2", "--tlsv1.3",
	"-4 --ipv4", "-6 --ipv6", "--proto=", "--proto-redir=", "--proto-default=", "--keepalive-time=", "--no-keepalive", "--tcp-nodelay", "--path-as-is",
)

const (
	noLogin = "name and password must be in a header: add 'Authorization: Basic …' with -H (curl) or --header (wget), with the base64 of NAME:PASSWORD"
	noTrust = "foliot serve checks certificates with its own authorities: add yours there (SSL_CERT_FILE), and omit this option"
	noProxy = "the request is sent by foliot serve from its own machine: set a proxy with a flag of foliot serve, and omit this option"
	noForm  = "multipart forms are not supported: write the body with --data-raw, and its content type with -H"
)

var curlRefused = []option{
	refused("-u --user --basic --digest --ntlm --negotiate --anyauth --oauth2-bearer --aws-sigv4 -n --netrc --netrc-file --netrc-optional", noLogin),
	refused("-k --insecure --cacert --capath", noTrust),
	refused("-E --cert --key --cert-type --key-type --pass", "client certificates are not supported: authenticate with a header, or check foliot's signature"),
	refused("-x --proxy --socks5 --socks5-hostname --socks4 --preproxy --noproxy --interface --resolve --connect-to --unix-socket --abstract-unix-socket --dns-servers", noProxy),
	refused("-F --form --form-string", noForm),
	refused("-G --get", "write the data into the URL after a ?"),
	refused("--data-urlencode", "encode the data, and pass it with -d"),
	refused("-T --upload-file", "the server cannot read a file of this machine: write its content with --data-raw, and -X PUT"),
	refused("-K --config", "the server cannot read a file of this machine: write its options into the line"),
	refused("-c --cookie-jar -j --junk-session-cookies", "cookies are not kept between calls: write them with -b NAME=VALUE"),
	refused("-: --next -Z --parallel", "write a line for each URL"),
}

var wgetRequest = []option{
	{"--method", true, setMethod},
	{"--spider", false, setHead},
	{"--post-data --body-data", true, (*builder).addData},
	{"--header", true, (*builder).addHeader},
	{"-U --user-agent", true, setUserAgent},
	{"--referer", true, setReferer},
	{"-T --timeout --read-timeout", true, (*builder).setTimeout},
	{"-O --output-document -o --output-file -a --append-output", true, toFile},
}

var wgetIgnored = ignored(
	"-q --quiet", "-v --verbose", "-nv --no-verbose", "-d --debug", "-S --server-response", "--show-progress", "--progress=", "-b --background",
	"-t --tries=", "-w --wait=", "--waitretry=", "--retry-connrefused", "--retry-on-http-error=", "--connect-timeout=", "--dns-timeout=", "--max-redirect=",
	"-nc --no-clobber", "-nd --no-directories", "-nH --no-host-directories", "-P --directory-prefix=", "--delete-after", "--content-disposition",
	"--no-cache", "--no-cookies", "--no-hsts", "--no-config", "-4 --inet4-only", "-6 --inet6-only", "--secure-protocol=", "--https-only", "--compression=",
	"--no-http-keep-alive", "--auth-no-challenge", "--content-on-error", "--no-dns-cache", "--no-iri",
)

var wgetRefused = []option{
	refused("--user --password --http-user --http-password --ask-password --use-askpass", noLogin),
	refused("--no-check-certificate --ca-certificate --ca-directory", noTrust),
	refused("--certificate --private-key", "client certificates are not supported: authenticate with a header, or check foliot's signature"),
	refused("-e --execute --bind-address", noProxy),
	refused("--post-file --body-file", "the server cannot read a file of this machine: write its content with --body-data"),
	refused("-i --input-file -r --recursive -m --mirror -p --page-requisites -l --level -A --accept -c --continue -N --timestamping", "a line calls one URL, and replies are not stored: write a line for each URL, without this option"),
	refused("--load-cookies --save-cookies --keep-session-cookies", "cookies are not kept between calls: write them with --header 'Cookie: NAME=VALUE'"),
}
