# grove: ten short targets. CI=1 makes accept leave out what doesn't fit CI's time; ONLY=a1.3 runs the checks whose names begin so.
GO ?= go
export CGO_ENABLED = 0

build: ; $(GO) build -trimpath -o bin/grove ./builder
demo: setup build ; bin/grove lab test demo -o out
test: setup ; $(GO) test ./...
golden: ; $(GO) test ./builder/resolve ./builder/lab/qemu ./firstboot/metrics ./firstboot/firewall -update
lab: setup build ; bin/grove lab up demo -o out
check: ; $(GO) vet ./... && test -z "$$(gofmt -l . | tee /dev/stderr)" && bin/grove check $$(ls recipes/*.yaml)
accept: setup build ; $(GO) run ./accept -only "$(ONLY)" $(if $(CI),-ci)
fmt: ; gofmt -w .
setup: ; @scripts/setup-host
clean: ; rm -rf bin out

.PHONY: build demo test golden lab check accept fmt setup clean
