# `make help` lists the targets with their purpose.
#
# Go fetches the modules, the linter and Hugo. The system must have only Go and a
# C compiler, which the race detector needs. Some targets need other programs too.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS   += --no-print-directory

GO ?= go

# A container without a home directory has nowhere to keep Go's caches.
ifeq ($(HOME),)
export GOPATH  ?= $(CURDIR)/.cache/go
export GOCACHE ?= $(CURDIR)/.cache/go-build
endif

PKG      ?= ./...
ARGS     ?=
RUN      ?= .
FUZZTIME ?= 30s
JOBS     ?= 1
BENCH    ?= .
COUNT    ?= 1

# With -buildvcs=false, a test does not depend on whether git trusts the owner
# of the directory. With the tag, Pebble takes zstd from Go: compiling the one in C
# takes a minute of the processor, and stores use neither. go build has the flags of
# the tests that follow, so that each dependency is compiled once.
FLAGS := -buildvcs=false -tags pebblegozstd
RACE  := -race $(FLAGS)

# Programs that tests build have these flags too, so that they are not compiled
# once more.
test check: export GOFLAGS := $(strip $(GOFLAGS) -buildvcs=false -tags=pebblegozstd)

# The compiler runs with a rarer garbage collector, which makes it faster.
COMPILE := env GOGC=400

# By default, a process with the race detector sleeps for a second before it
# exits.
export GORACE ?= atexit_sleep_ms=0

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "Variables: PKG=./internal/api (one package) and RUN=REGEXP (names of tests) for test, test-slow and golden;"
	@echo "PKG, FUZZTIME and JOBS for fuzz; PKG, BENCH and COUNT for microbench; ARGS for run, battery and bench."

# The number of packages that are tested at once. It is one more than the number
# of processors, because internal/cli waits for servers half of its time.
AT_ONCE = $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

# make test leaves out test/, which drives the binary from outside, and tests that
# call quick.Leave.
.PHONY: test
test: PACKAGES = $(or $(PKG:./...=),$$($(GO) list ./... | grep -v /foliot/test/) ./test/prose)
test: checked ## gofmt, vet, build, and the tests of all packages in their short form (minutes; make check runs more)
	@$(GO) test -toolexec '$(COMPILE)' -vet=all $(FLAGS) -short -p $(AT_ONCE) -timeout 10m -run '$(RUN)' $(PACKAGES) | \
	while IFS= read -r line; do case $$line in *'[no test files]') ;; *) printf '%s\n' "$$line"; esac; done # awk would read ahead
	@echo "make: all tests pass"

# The slowest packages come first, so that none runs alone at the end. The tests of
# prose have no goroutines, and are a part of make test.
.PHONY: check
check: FLAGS = $(RACE)
check: PACKAGES = $(or $(PKG:./...=),./wheel ./internal/cli ./internal/store/pebblestore $$($(GO) list ./... | grep -v /test/prose))
check: checked tooled ## what CI runs after make test: all tests with the race detector, 10^7 operations on the engine, generated files, the web page in chromium (20 minutes)
	@CGO_ENABLED=1 $(GO) test -toolexec '$(COMPILE)' -vet=all $(FLAGS) -short -p $(AT_ONCE) -timeout 15m -run '$(RUN)' $(PACKAGES)
	@$(GO) test -timeout 10m -run '^TestCoreAgreesWithASortedHeap$$' ./wheel -model.ops 10000000
	@cd tools && $(GO) test -count 1 -timeout 10m ./... # without -count 1, go would reuse results after changes of the main module
	@cd test/browser && $(GO) test -timeout 10m ./...

.PHONY: check-long
check-long: platforms lint clients-test page-check redis-long postgres-long ## what needs other compilers, the network or an hour: other systems, golangci-lint, the client packages, broken Redis servers

.PHONY: page
page: tooled ## bundle the web page again, after a change of internal/page/src or of the API
	@cd tools && $(GO) run ./bundle ..

.PHONY: clients
clients: tooled ## write the types and the version of the client packages and of the chart again, after a change of the API or a release
	@cd tools && $(GO) run ./clients ..

.PHONY: page-check
page-check: ## check the types of the web page, with npm
	@dir=$$(mktemp -d); trap 'rm -r "$$dir"' EXIT; cp -r internal/page/src internal/page/tsconfig.json "$$dir"; cd "$$dir"; \
	npm install --silent --no-save preact@11.2.0 @preact/signals@2.11.4 typescript@7.0.2; node_modules/.bin/tsc -p .

.PHONY: page-images
page-images: tooled ## make images of all pages in bin/images, copy some to docs/images, and time each page with 10^6 tasks (5 minutes, needs chromium)
	@mkdir -p bin/images
	@cd test/browser && $(GO) test -count 1 -v -timeout 20m -run ManyTasks . -many 1000000 -images $(CURDIR)/bin/images
	@cp bin/images/*-dark-1400.webp bin/images/*-light-360.webp docs/images

.PHONY: test-slow
test-slow: FLAGS = $(RACE)
test-slow: PACKAGES = $(PKG)
test-slow: checked tooled ## the tests of PKG in their long form, with the race detector (an hour at most)
	@CGO_ENABLED=1 $(GO) test -toolexec '$(COMPILE)' -vet=all $(FLAGS) -timeout 60m -run '$(RUN)' $(PACKAGES)

# The packages that programs import, and the systems for which they are vetted
# and built without cgo. The processor of this machine runs the tests for 386.
PUBLIC = ./wheel ./idle ./webhook ./client . ./dir ./redis ./postgres ./admin ./foliottest
SYSTEMS = linux/386 linux/arm linux/arm64 darwin/arm64 windows/amd64
WHEEL_SYSTEMS = js/wasm wasip1/wasm plan9/amd64

.PHONY: platforms
platforms: ## vet and build the public packages and foliot for other systems, and test the engine and idle with 32 bits (amd64 only)
	@for s in $(SYSTEMS:=/build) $(WHEEL_SYSTEMS); do \
		packages=./wheel; case $$s in */build) packages="$(PUBLIC)"; esac; \
		s=$${s%/build}; echo "make: $$s"; export CGO_ENABLED=0 GOOS=$${s%/*} GOARCH=$${s#*/} GOGC=400; \
		$(GO) vet $$packages; $(GO) build -o /dev/null $$packages; \
		case $$packages in *client*) $(GO) build -o /dev/null ./cmd/foliot; esac; done
	@if [ "$$($(GO) env GOHOSTARCH)" = amd64 ]; then CGO_ENABLED=0 GOARCH=386 $(GO) test -short -tags all -timeout 15m ./wheel ./idle ./internal/task/...; fi

.PHONY: wheel-long
wheel-long: tooled ## the engine's batteries: 10^9 model operations, 10^7 under -race, 10^6 timers in real time
	@$(GO) test -v -timeout 3h -run '^TestCoreAgreesWithASortedHeap$$' ./wheel -model.ops 1000000000
	@CGO_ENABLED=1 $(GO) test $(RACE) -v -timeout 1h -run '^TestEveryTimerEndsOnceUnderContention$$' ./wheel -race.ops 10000000
	@$(GO) test -v -timeout 1h -run '^(TestNothingIsEarlyInRealTime|TestConcurrentHistories.*)$$' ./wheel -linear.ops 10000000

.PHONY: idle-long
idle-long: tooled ## the batteries of package idle: 10^7 connections over a day, 5000 random lives, ends under -race (6 minutes)
	@$(GO) test -v -timeout 1h -run '^TestADayWithoutAWrongCloseOrAMissingOne$$' ./idle -virtual 10000000
	@$(GO) test -timeout 1h -run '^TestEveryReasonAgreesWithTheModel$$' ./idle -model.seeds 5000
	@CGO_ENABLED=1 $(GO) test $(RACE) -v -timeout 1h -run '^(TestAConnectionEndsOnce.*|TestNoConnectionIsClosedBecause.*)$$' -count 10 ./idle

.PHONY: redis-long
redis-long: tooled ## test the store in Redis with broken servers and connections, with a redis-server of the system (3 minutes)
	@FOLIOT_REQUIRE_REDIS=1 $(GO) test -v -timeout 1h ./internal/store/redisstore/...

.PHONY: postgres-long
postgres-long: tooled ## test the store in PostgreSQL in its long form, also through PgBouncer, with the servers of the system (5 minutes)
	@FOLIOT_REQUIRE_POSTGRES=1 FOLIOT_REQUIRE_PGBOUNCER=1 $(GO) test -v -timeout 1h ./internal/store/pgstore ./postgres

.PHONY: cron-long
cron-long: tooled ## Next and Prev of calendars against a walk by minutes: 10^6 steps over every zone of the system, and of Go (6 minutes)
	@$(GO) test -v -timeout 1h -run '^TestNextAndPrevAgreeWithAWalk' ./internal/cron -oracle.steps 1000000
	@ZONEINFO="$$($(GO) env GOROOT)/lib/time/zoneinfo.zip" $(GO) test -v -timeout 1h -run '^TestNextAndPrevAgreeWithAWalk' ./internal/cron -oracle.steps 1000000

# checked is the condition for all tests: formatted and built. It says what it does
# from the first second, because it takes minutes with an empty cache.
.PHONY: checked
checked: go
	@PATH="$$PATH:/usr/sbin:$$(echo /usr/lib/postgresql/*/bin | tr ' ' :)"; for need in redis-server/redis-server initdb/postgresql pgbouncer/pgbouncer promtool/prometheus; do command -v "$${need%/*}" >/dev/null || \
		echo "make: $${need%/*} is missing, so its tests are skipped; install it: apt-get install $${need#*/}"; done
	@unformatted=$$(find . -name '*.go' -not -path './.cache/*' -print0 | xargs -0r "$$($(GO) env GOROOT)/bin/gofmt" -l); \
	if [ -n "$$unformatted" ]; then printf 'make: not formatted, run gofmt -w on:\n%s\n' "$$unformatted" >&2; exit 1; fi
	@echo "make: building; with an empty cache, about 600 packages are compiled"
	@$(GO) build -toolexec '$(COMPILE)' $(FLAGS) -v $(PACKAGES) 2>&1 | { n=0; while IFS= read -r line; do \
		case $$line in *[\ \#:]*) printf '%s\n' "$$line" ;; *) n=$$((n + 1)); if [ $$((n % 50)) = 0 ]; then echo "make: $$n are compiled"; fi; esac; done; }
	@echo "make: vetting and testing; each package prints its time"

# tooled names each missing tool in one line.
.PHONY: tooled
tooled: go
	@set -- $$($(GO) env CC); command -v "$$1" >/dev/null || { \
		echo "make: the race detector needs a C compiler and '$$1' is not on PATH: install gcc (apt-get install gcc libc6-dev) or set CC" >&2; exit 1; }

.PHONY: go
go:
	@command -v $(GO) >/dev/null || { echo "make: $(GO) is not on PATH: install Go 1.26 or newer from https://go.dev/dl/" >&2; exit 1; }

.PHONY: lint
lint: ## golangci-lint (the first run compiles it: minutes)
	@$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 run $(PKG)

.PHONY: site
site: ## build the docs site into dist/site and check its links (the first run compiles Hugo: minutes)
	@CGO_ENABLED=0 $(GO) run github.com/gohugoio/hugo@v0.165.0 --source site --destination ../dist/site --cleanDestinationDir --quiet
	@cd tools && $(GO) run ./site ../dist/site

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME (30s), JOBS (1) of them at a time
	@for dir in . examples; do \
		cd "$(CURDIR)/$$dir"; \
		for pkg in $$($(GO) list $(PKG) 2>/dev/null); do \
			for target in $$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do echo "$$dir $$pkg $$target"; done; \
		done; \
	done | xargs -r -L 1 -P $(JOBS) bash -c 'cd "$$0" && out=$$($(GO) test -run "^\$$" -fuzz "^$$2\$$" -fuzztime $(FUZZTIME) -parallel 2 "$$1" 2>&1) && echo "$$1 $$2: $$(grep elapsed <<<"$$out" | tail -n 1)" || { echo "$$1 $$2 FAILED"; echo "$$out"; exit 1; }'

.PHONY: microbench
microbench: ## benchmarks of PKG matching BENCH, COUNT times
	@$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $(PKG)

# bench/ is a separate module, so that users of Foliot do not download the
# libraries that it measures. For the same reason it is not in `make test`.
.PHONY: bench bench-idle bench-heartbeat bench-redis bench-embed
bench: ## measure Foliot next to other timers, into docs/benchmarks.md (15 minutes; ARGS=-quick, -help)
bench-idle: ## measure package idle next to others, into docs/idle-benchmarks.md (10 minutes; ARGS=-quick, -help)
bench-heartbeat: ## measure the timeouts of 100,000 connections with heartbeats, into docs/heartbeat-benchmarks.md (11 minutes; ARGS=-quick, -help)
bench-redis: build ## measure Foliot on Redis next to asynq and the original design, into docs/redis-benchmarks.md (6 minutes; ARGS=-quick, -help)
bench-embed: ## measure package foliot next to asynq and River, into docs/embed-benchmarks.md (25 minutes; ARGS=-quick, -help)
bench bench-idle bench-heartbeat bench-redis bench-embed:
	@cd bench && $(GO) build -buildvcs=false -o ../bin/foliot-bench .
	@exec bin/foliot-bench $(subst bench,wheel,$(@:bench-%=%)) $(ARGS)

.PHONY: bench-test
bench-test: tooled ## the tests of bench/
	@cd bench && CGO_ENABLED=1 $(GO) vet $(RACE) ./... && CGO_ENABLED=1 $(GO) test $(RACE) -short -parallel 16 ./...

# examples/ is a separate module too: its servers use libraries that a user of
# Foliot need not download.
.PHONY: examples-test
examples-test: tooled ## the tests of examples/
	@cd examples && CGO_ENABLED=1 $(GO) vet $(RACE) ./... && CGO_ENABLED=1 $(GO) test $(RACE) -short -timeout 5m ./...

.PHONY: clients-test
clients-test: tooled ## build the client packages, install them from the files, and use them against the server (downloads from npm)
	@FOLIOT_CLIENTS=1 $(GO) test -count 1 -timeout 15m -v ./test/clients

.PHONY: golden
golden: ## rewrite the golden files in testdata; read the diff before you commit it
	@UPDATE_GOLDEN=1 $(GO) test -short -count 1 -run '$(RUN)' $(PKG)

.PHONY: cover
cover: ## statement coverage by function, and bin/cover.html
	@mkdir -p bin
	@$(GO) test -short -coverpkg=./... -coverprofile=bin/cover.out $(PKG)
	@$(GO) tool cover -html=bin/cover.out -o bin/cover.html
	@$(GO) tool cover -func=bin/cover.out

.PHONY: build
build: ## bin/foliot; names each package that it compiles
	@echo "make: building bin/foliot; the first build compiles all dependencies and takes minutes" >&2
	@$(GO) build -v -o bin/foliot ./cmd/foliot
	@echo "make: bin/foliot is ready" >&2

.PHONY: man
man: build ## bin/foliot.1, the man page
	@bin/foliot man > bin/foliot.1

.PHONY: run
run: build ## build, then foliot serve with ARGS
	@exec bin/foliot serve $(ARGS)

.PHONY: image
image: ## the container image for linux/amd64 and linux/arm64, in dist/ (VERSION=1.2.3); needs no Docker
	@cd tools/image && $(GO) run -buildvcs=false . $(if $(VERSION),-version "$$VERSION")

.PHONY: image-test
image-test: ## build the image twice and compare, and run it as its user in a directory (as root, 2 minutes)
	@cd tools/image && $(GO) vet . && $(GO) test -count 1 -timeout 10m -v .

.PHONY: deploy-test
deploy-test: ## check the Helm chart and the Compose files, and run their servers (as root; the first run compiles Helm: 2 minutes)
	@cd tools/deploy && $(GO) vet ./... && $(GO) test -count 1 -timeout 10m -v ./...

# The tool builds HEAD in a clean clone, without changes that are not committed.
.PHONY: release
release: ## archives, packages, SBOMs and checksums of the tagged commit, in dist/ (SNAPSHOT=1: of any commit; VERSION=v1.2.3: fail if the tag is another one; PLATFORMS=linux/amd64,...)
	@cd tools/release && $(GO) build -buildvcs=false -o ../../bin/foliot-release .
	@bin/foliot-release $(if $(SNAPSHOT),-snapshot) $(if $(VERSION),-version "$$VERSION") $(if $(PLATFORMS),-platforms $(PLATFORMS))

.PHONY: release-test
release-test: ## build the release twice and compare all bytes (two platforms: 9 minutes; PLATFORMS=linux/amd64,...)
	@cd tools/release && $(GO) vet ./... && $(GO) test -count 1 -timeout 90m -v . $(if $(PLATFORMS),-platforms $(PLATFORMS))

.PHONY: package-test
package-test: ## install, upgrade and remove the deb and the rpm in a directory of debootstrap (as root, 8 minutes)
	@packaging/test.sh

.PHONY: install-test
install-test: ## install from the archive, the deb, the image and a clone in empty directories of debootstrap, up to the first callback (as root, 10 minutes)
	@packaging/install-test.sh

.PHONY: test-cgo
test-cgo: tooled ## check that builds with and without C open the data directories of each other (2 minutes)
	@CGO_ENABLED=1 $(GO) test -count 1 -timeout 30m -v ./test/cgo

.PHONY: battery
battery: ## drive the binary from outside: kill -9 under load, and count lost tasks
	@$(GO) run ./test/battery $(ARGS)

.PHONY: test-embed
test-embed: ## kill programs that embed package foliot, 200 times on each store (20 minutes; KILLS=4)
	@FOLIOT_KILLS=$(or $(KILLS),200) $(GO) test -count 1 -timeout 60m -run 'Killed|EndsTheProcess|NoKill' -v ./test/embed

.PHONY: bench-compare
bench-compare: ## measure the server of this tree and of REF in turn, and print the ratios of rates, processor time and lateness (8 minutes; ARGS='-pairs 5 creates')
	@$(GO) run ./test/battery -compare '$(REF)' $(ARGS)

.PHONY: battery-redis
battery-redis: tooled ## nodes on Redis under kill -9, SIGSTOP, restarts and failovers, with a redis-server of the system (15 minutes; ARGS=-full: 3 hours)
	@$(GO) run ./test/battery $(ARGS) redis

.PHONY: battery-postgres
battery-postgres: tooled ## nodes on PostgreSQL under kill -9, failovers and transactions of users, with the PostgreSQL of the system (ARGS=-full: hours)
	@$(GO) run ./test/battery $(ARGS) postgres

.PHONY: battery-patroni
battery-patroni: tooled ## nodes on three servers of PostgreSQL that Patroni and etcd manage: kill -9 and SIGSTOP of the primary (2 minutes; ARGS='-failovers 50')
	@for need in patroni/patroni etcd/etcd-server; do command -v "$${need%/*}" >/dev/null || \
		{ echo "make: $${need%/*} is missing: install it: apt-get install $${need#*/}" >&2; exit 1; }; done
	@$(GO) run ./test/battery $(ARGS) postgres-patroni
