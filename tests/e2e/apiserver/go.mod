// This file only marks the root of the module. What it requires is in kubernetes-VERSION.mod, one
// for each version of Kubernetes: go build -modfile=kubernetes-1.37.mod
module policyd.dev/tests/e2e/apiserver

go 1.26.0
