# Everything runs in .venv, which `build` makes and keeps up to date.
RUN = .venv/bin/
# K8S=1.36 selects the version of Kubernetes that policyd is compared with.
ifdef K8S
export POLICYD_KUBERNETES = $(K8S)
endif

.PHONY: kubernetes acceptance docs demo test explore fuzz-cel fuzz asan differential check build bench bench-compare bench-released loadtest cov helm e2e node products rehearsal publish image release release-trials audit tls-scan matrix clean

demo: build            # a real server, real reviews, the answers explained
	$(RUN)python tools/demo/run.py

test: build            # every test, on all cores; ends with pytest's summary
	$(RUN)python -m pytest -n auto --dist loadfile

explore: build         # the properties, with examples of a seed that is printed: POLICYD_SEED=7 repeats a run
	POLICYD_EXPLORE=1 $(RUN)python -m pytest -n auto --dist loadfile -m hypothesis

fuzz-cel: build        # random expressions, beside Kubernetes' own CEL: N=100000 SEED=7 K8S=1.36 (needs Go)
	$(RUN)python -m tests.fuzz $(or $(N),20000) $(or $(SEED),1)

fuzz: build            # coverage-guided, ten minutes for all targets: TIME=3600 TARGETS="reviews http1"
	tools/fuzz $(or $(TIME),600) $(TARGETS)

asan: build            # the tests of the core with AddressSanitizer and UndefinedBehaviorSanitizer
	tools/asan

differential: build    # the tests that ask Kubernetes' own CEL, of the version K8S=1.36
	$(RUN)python -m pytest tests/fuzz

kubernetes: build      # all that a new version needs: VERSION=1.38; prints what is left for a person (needs Go)
	$(RUN)python -m tools.kubernetes $(VERSION)

check: build           # lint, format, types, layout, stubs
	tools/check

build:                 # .venv/bin/policyd and .venv/bin/python, the core compiled in place
	tools/build

docs: build            # the site of this version, build/site/VERSION (SITE=dir/ of all versions); broken links are errors
	$(RUN)python -c 'import material' 2>/dev/null || POLICYD_COMPILED=1 $(RUN)python -m pip install -q --no-build-isolation -e '.[docs]'
	$(RUN)python -m tools.site $(SITE)

bench: build           # every figure beside its target
	$(RUN)python -m tools.bench

bench-compare: build   # this tree beside the last tag, or BASE=ref, in turns (minutes: the other tree is built)
	$(RUN)python -m tools.bench_compare $(if $(BASE),--base $(BASE)) $(OPTIONS)

bench-released: build  # instructions beside those of the last release; needs Valgrind (two minutes)
	$(RUN)python -m tools.bench_compare.released $(OPTIONS)

loadtest: build        # every shape of load by Locust, into build/loadtest; 20 minutes; Prometheus is built the first time
	tests/node/cluster/programs.sh prometheus
	$(RUN)python -m loadtest.campaign

cov: build             # coverage of Python and Cython, in a traced copy of the tree
	tools/cov

helm:                  # for the tests of the chart, into build/node/bin; Go builds it (minutes)
	tests/node/cluster/programs.sh helm

e2e: build             # against real kube-apiservers (K8S=1.36), which Go builds the first time (minutes)
	$(RUN)python -m tests.e2e.cluster
	POLICYD_E2E=1 $(RUN)python -m pytest -p tests.e2e.required -n $(or $(E2E_PROCESSES),3) --dist loadfile tests/e2e

acceptance: build      # all that `make test` and `make e2e` sample, every version of Kubernetes, a node, every Python, the wheels (hours)
	POLICYD_SAMPLE=1 $(MAKE) test
	POLICYD_SAMPLE=1 $(MAKE) e2e
	POLICYD_SAMPLE=1 $(MAKE) e2e differential K8S=1.36
	POLICYD_SAMPLE=1 $(MAKE) e2e differential K8S=1.38
	$(MAKE) docs helm node products release rehearsal matrix
	POLICYD_SAMPLE=1 $(MAKE) release-trials

node: build            # on a real single-node Kubernetes, built the first time (minutes): installs, disruptions; as root
	$(RUN)python -m tests.node.programs
	POLICYD_NODE=1 $(RUN)python -m pytest -p tests.e2e.required tests/node -v

products: build        # beside the real Kyverno and Gatekeeper, which Go builds the first time (half an hour); as root
	tests/node/cluster/programs.sh kyverno gatekeeper
	$(RUN)python -m tests.e2e.cluster
	$(RUN)python -m tests.node.programs
	POLICYD_PRODUCTS=1 POLICYD_NODE=1 $(RUN)python -m pytest -p tests.e2e.required tests/products tests/node/test_runbook.py -v

image: build           # build/image/policyd-VERSION.oci.tar, SBOMs and provenance, without docker; DOCKER=1 builds with docker instead
ifdef DOCKER
	docker build -f deploy/Dockerfile -t policyd:$$($(RUN)python -m tools.image version) .
else
	$(RUN)python -m tools.image
endif

publish: build         # push, sign and attest image and chart: REPOSITORY=registry.example.com/team KEY=cosign.key
	$(RUN)python -m tools.publish $(REPOSITORY) $(if $(KEY),--key $(KEY)) $(OPTIONS)

rehearsal: build       # the same with a registry of this machine, then verify; Go builds the programs (minutes)
	$(RUN)python -m tools.image --plugin https://example.com/policyd
	tests/node/cluster/programs.sh helm registry crane cosign krew kubectl
	POLICYD_REHEARSAL=1 $(RUN)python -m pytest -p tests.e2e.required tests/publishing -v

release: build         # dist/: the wheels and the source distribution; VERSION=1.2.3 checks, tags and writes notes
	$(RUN)python -m tools.release $(if $(VERSION),--version $(VERSION)) $(OPTIONS)

release-trials: build  # installs and runs the wheels of dist/ on minimal Debians and, with QEMU, on ARM; as root
	$(RUN)python -m tools.release.trials $(TRIALS)

audit: build           # known vulnerabilities of what is locked; needs a database of them on the network
	$(RUN)python -m tools.supply.audit

tls-scan: build        # the TLS of a real server, graded by sslyze, which is installed below build/supply
	$(RUN)python -m tools.supply.tls_scan

matrix: build          # the wheel, built and tried with every Python from 3.11 to 3.14 that is here, or in a Debian: DEBIAN=dir
	$(RUN)python -m tools.supply.matrix $(if $(DEBIAN),--root $(DEBIAN))

clean:
	git clean -fdX -e '!.venv'
