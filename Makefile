# Every task a developer or a machine runs. `make` alone lists them.
GOLANGCI_LINT_VERSION := v2.15.0
TOOLS := $(CURDIR)/.tools
FUZZTIME ?= 10s
export GOFLAGS :=

.PHONY: help
help: ## list the tasks
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build the commands into bin/
	go build -o bin/ ./cmd/...

.PHONY: test
test: ## run all tests with the race detector
	go test -race ./...

.PHONY: full
full: ## run the end-to-end tests at full size (minutes)
	go test -race -timeout 60m ./internal/local -full

.PHONY: conformance
conformance: ## hold the emulators to what JavaScript's and Go's clients see (CONFORMANCE: flags, such as -hub-connection)
	@go test -v -count=1 ./internal/emulator/conformance $(CONFORMANCE)

.PHONY: vet
vet: ## gofmt and go vet
	@files=$$(gofmt -l .); test -z "$$files" || { echo "gofmt would change:"; echo "$$files"; exit 1; }
	go vet ./...

.PHONY: lint
lint: $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION) ## run the linters, the room boundaries among them
	$< run ./...

$(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION):
	GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv $(TOOLS)/golangci-lint $@

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@set -e; go list ./... | while read -r pkg; do \
	  go test -list '^Fuzz' $$pkg | grep '^Fuzz' | while read -r target; do \
	    echo "fuzz $$pkg $$target"; \
	    go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done || exit 1; \
	done

.PHONY: local
local: ## run emulators, fleet and service in one process for 30 seconds
	go run ./cmd/local --for 30s

.PHONY: bench
bench: ## measure the service at a rate (RATE=2500 events a second)
	go run ./bench/mainjob --rate $(or $(RATE),2500)

.PHONY: bench-all
bench-all: bench ## every benchmark: rates, guards, backlog (half an hour)
	go run ./bench/mainjob --rate 10000
	go run ./bench/guard
	go run ./bench/backlog

.PHONY: tidy-check
tidy-check: ## fail if go.mod or go.sum are not tidy
	go mod tidy -diff

.PHONY: ci
ci: vet tidy-check lint test fuzz ## what .ci/run runs
