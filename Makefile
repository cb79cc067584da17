# Everything runs in .venv, which `build` makes and keeps up to date.
RUN = .venv/bin/
# K8S=1.36 selects the version of Kubernetes that policyd is compared with.
ifdef K8S
export POLICYD_KUBERNETES = $(K8S)
endif

.PHONY: demo test fuzz-cel differential check build bench cov e2e clean

demo: build            # a real server, real reviews, the answers explained
	$(RUN)python tools/demo/run.py

test: build            # every test; ends with pytest's summary
	$(RUN)python -m pytest

fuzz-cel: build        # random expressions, beside Kubernetes' own CEL: N=100000 SEED=7 K8S=1.36 (needs Go)
	$(RUN)python -m tests.fuzz $(or $(N),20000) $(or $(SEED),1)

differential: build    # the tests that ask Kubernetes' own CEL, of the version K8S=1.36
	$(RUN)python -m pytest tests/fuzz

check: build           # lint, format, types, layout, stubs
	tools/check

build:                 # .venv/bin/policyd and .venv/bin/python, the core compiled in place
	tools/build

bench: build           # every figure beside its target
	$(RUN)python -m tests.bench

cov: build             # coverage of Python and Cython, in a traced copy of the tree
	tools/cov

e2e: build             # against a real kube-apiserver (K8S=1.36), which Go builds the first time (minutes)
	$(RUN)python -m tests.e2e.cluster
	POLICYD_E2E=1 $(RUN)python -m pytest -p tests.e2e.required tests/e2e

clean:
	git clean -fdX -e '!.venv'
