#!/usr/bin/env bash
# Build what a node needs, from Go modules and Debian packages, by name and version. What is there already stays.
#
#   programs.sh [TARGET…]   kubernetes etcd containerd cni system pause helm prometheus cert-manager
#                           registry crane cosign krew (default: these), kubectl kyverno gatekeeper
#                           kyverno-bench gatekeeper-bench
#
# Nothing is installed: `go` downloads modules, and `apt-get download` packages that are unpacked into a folder.
# common.sh says where the programs go.
set -euo pipefail
. "$(dirname "$0")/common.sh"

KUBERNETES=1.36.3
ETCD=v3.6.8
CONTAINERD=v2.3.7
CNI=v1.9.1
HELM=v4.3.1
PROMETHEUS=v0.310.0
CERT_MANAGER=v1.21.2
DISTRIBUTION=v3.1.2
CRANE=v0.22.1
COSIGN=v3.1.3
KREW=v0.4.3
KYVERNO=v1.19.1
GATEKEEPER=v3.23.1
GO=1.26.0

export CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false"
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT

missing() { # missing PROGRAM…: whether one of them is not there
  local program
  for program in "$@"; do
    [ -x "$BIN/$program" ] || return 0
  done
  return 1
}

# Enter a copy of a module's source, to be built with its own go.sum. Replacements by a folder are not in a module's zip.
enter_source() { # enter_source MODULE VERSION
  local folder=$scratch/source downloaded
  downloaded=$(cd "$scratch" && go mod download -json "$1@$2" | sed -n 's/^\t"Dir": "\(.*\)".*/\1/p')
  [ -n "$downloaded" ] || { echo "cannot download $1@$2" >&2; return 1; }
  chmod -R u+w "$folder" 2>/dev/null || true
  rm -rf "$folder"
  cp -r "$downloaded" "$folder"
  chmod -R u+w "$folder"
  cd "$folder"
  rm -rf vendor go.work go.work.sum
  { grep -E '=> \.\.?/' go.mod || true; } | sed 's/^replace//' | awk '{print $1}' |
    while read -r module; do go mod edit -dropreplace "$module"; done
}

kubernetes() {
  kubernetes_programs kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl
}

kubectl() { kubernetes_programs kubectl; }

kubernetes_programs() { # kubernetes_programs PROGRAM…
  missing "$@" || return 0
  local module stamp=k8s.io/component-base/version
  local packages=("${@/#/k8s.io/kubernetes/cmd/}")
  mkdir "$scratch/kubernetes"
  cd "$scratch/kubernetes"
  module=$(go mod download -json "k8s.io/kubernetes@v$KUBERNETES" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
  {
    printf 'module node\n\ngo %s\n\nrequire k8s.io/kubernetes v%s\n\ntool (\n' $GO $KUBERNETES
    printf '\t%s\n' "${packages[@]}"
    printf ')\n\nreplace (\n'
    # The module replaces its parts by folders, which do not travel with it; each is a module, too.
    sed -n "s#^\t\(k8s\.io/[^ ]*\) => \./staging.*#\t\1 => \1 v0.${KUBERNETES#1.}#p" "$module"
    echo ')'
  } >go.mod
  quietly go mod tidy
  go build -o "$BIN/" -ldflags "-s -w -X $stamp.gitVersion=v$KUBERNETES -X $stamp.gitMajor=1 -X $stamp.gitMinor=36" \
    "${packages[@]}"
}

etcd() {
  missing etcd || return 0
  mkdir "$scratch/etcd"
  cp "$here/etcd.go" "$scratch/etcd/main.go"
  cd "$scratch/etcd"
  printf 'module node\n\ngo %s\n\nrequire go.etcd.io/etcd/server/v3 %s\n' $GO $ETCD >go.mod
  quietly go mod tidy
  go build -ldflags "-s -w" -o "$BIN/etcd" .
}

containerd() {
  missing containerd containerd-shim-runc-v2 ctr || return 0
  local module=github.com/containerd/containerd/v2
  enter_source $module $CONTAINERD
  go build -mod=mod -tags "no_btrfs no_zfs no_devmapper no_tracing" -o "$BIN/" \
    -ldflags "-s -w -X $module/version.Version=$CONTAINERD" \
    ./cmd/containerd ./cmd/containerd-shim-runc-v2 ./cmd/ctr
}

cni() {
  missing cni/bridge cni/host-local cni/loopback cni/portmap || return 0
  mkdir -p "$BIN/cni"
  enter_source github.com/containernetworking/plugins $CNI
  go build -mod=mod -ldflags "-s -w" -o "$BIN/cni/" \
    ./plugins/main/bridge ./plugins/main/loopback ./plugins/ipam/host-local ./plugins/meta/portmap
}

# runc with seccomp, and nftables.
system() {
  missing sys/usr/sbin/runc || return 0
  local packages=(runc nftables libnftables1 libnftnl11 libxtables12 libmnl0 libjansson4 libedit2 libbsd0 conntrack
    libnetfilter-conntrack3 libnfnetlink0 libseccomp2)
  local package
  mkdir "$scratch/packages"
  cd "$scratch/packages"
  if ! apt-get -qq -o APT::Sandbox::User=root download "${packages[@]}" 2>/dev/null; then
    apt-get -q update # the lists of packages are missing or old
    apt-get -qq -o APT::Sandbox::User=root download "${packages[@]}"
  fi
  for package in *.deb; do dpkg -x "$package" "$BIN/sys"; done
}

pause() {
  missing pause || return 0
  go build -ldflags "-s -w" -o "$BIN/pause" "$here/pause.go"
}

helm() {
  missing helm || return 0
  enter_source helm.sh/helm/v4 $HELM
  go build -mod=mod -ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$HELM" -o "$BIN/" ./cmd/helm
}

# Of the ways to find targets only that by Kubernetes: those by clouds are most of the build.
prometheus() {
  missing promtool prometheus || return 0
  enter_source github.com/prometheus/prometheus $PROMETHEUS
  go build -mod=mod -tags "remove_all_sd enable_kubernetes_sd" -o "$BIN/" \
    -ldflags "-s -w -X github.com/prometheus/common/version.Version=$PROMETHEUS" ./cmd/promtool ./cmd/prometheus
}

# The commands of cert-manager are modules that no proxy can name; cert-manager.go calls the packages that they call.
cert-manager() {
  missing cert-manager || return 0
  enter_source github.com/cert-manager/cert-manager $CERT_MANAGER
  mkdir -p cmd/node "$BIN/cert-manager-crds"
  cp deploy/crds/*.yaml "$BIN/cert-manager-crds/"
  cp "$here/cert-manager.go" cmd/node/main.go
  go build -mod=mod -ldflags "-s -w" -o "$BIN/cert-manager" ./cmd/node
}

# A registry that keeps its files in a folder. The drivers for clouds are most of the build of its own command.
registry() {
  missing registry || return 0
  enter_source github.com/distribution/distribution/v3 $DISTRIBUTION
  cp "$here/registry.go" cmd/registry/main.go
  go build -mod=mod -ldflags "-s -w" -o "$BIN/" ./cmd/registry
}

crane() { one_program github.com/google/go-containerregistry $CRANE ./cmd/crane; }

cosign() { one_program github.com/sigstore/cosign/v3 $COSIGN ./cmd/cosign; }

krew() {
  missing kubectl-krew || return 0
  one_program sigs.k8s.io/krew $KREW ./cmd/krew
  mv "$BIN/krew" "$BIN/kubectl-krew"
}

# The controllers of admission and reports with what their chart runs beside them, the chart, and the CustomResourceDefinitions. The
# chart lists charts that only a registry has; the one of these that it needs is in another module.
kyverno() {
  local programs=(kyverno kyverno-init readiness-checker reports-controller)
  missing "${programs[@]}" kyverno-chart || return 0
  enter_source github.com/kyverno/kyverno $KYVERNO
  rm -rf "$BIN/kyverno-crds" "$BIN/kyverno-chart"
  mkdir "$BIN/kyverno-crds"
  cp config/crds/*/*.yaml "$BIN/kyverno-crds/"
  go build -mod=mod -ldflags "-s -w" -o "$BIN/" "${programs[@]/#/./cmd/}"
  cp -r charts/kyverno "$BIN/kyverno-chart"
  cp -r "$(go list -m -f '{{.Dir}}' github.com/kyverno/api)/charts/kyverno-api" "$BIN/kyverno-chart/charts/"
  chmod -R u+w "$BIN/kyverno-chart"
  rm "$BIN/kyverno-chart/Chart.lock"
  sed -i '/- name: \(kyverno-api\|openreports\|reports-server\)/,/condition/d' "$BIN/kyverno-chart/Chart.yaml"
}

gatekeeper() {
  missing gatekeeper || return 0
  enter_source github.com/open-policy-agent/gatekeeper/v3 $GATEKEEPER
  cp deploy/gatekeeper.yaml "$BIN/"
  go build -mod=mod -ldflags "-s -w" -o "$BIN/gatekeeper" .
}

# Programs of tools/bench that call the engine of a product.
kyverno-bench() { bench_program github.com/kyverno/kyverno $KYVERNO; }

gatekeeper-bench() { bench_program github.com/open-policy-agent/gatekeeper/v3 $GATEKEEPER; }

bench_program() { # bench_program MODULE VERSION: of the target
  missing "$target" || return 0
  enter_source "$1" "$2"
  mkdir -p cmd/bench
  cp "$root/tools/bench/peers/loop.go" "$root/tools/bench/peers/${target%-bench}.go" cmd/bench/
  go build -mod=mod -ldflags "-s -w" -o "$BIN/$target" ./cmd/bench
}

one_program() { # one_program MODULE VERSION FOLDER: the program has the name of its folder
  missing "${3##*/}" || return 0
  enter_source "$1" "$2"
  go build -mod=mod -ldflags "-s -w" -o "$BIN/" "$3"
}

quietly() { "$@" >"$scratch/log" 2>&1 || { tail -20 "$scratch/log" >&2; return 1; }; }

[ $# -gt 0 ] || set -- kubernetes etcd containerd cni system pause helm prometheus cert-manager \
  registry crane cosign krew
for target in "$@"; do
  case $target in
    kubernetes | etcd | containerd | cni | system | pause | helm | prometheus | cert-manager) ;;
    registry | crane | cosign | krew | kubectl | kyverno | gatekeeper | kyverno-bench | gatekeeper-bench) ;;
    *)
      echo "unknown target $target" >&2
      exit 2
      ;;
  esac
  begin=$SECONDS
  ("$target") # in a shell of its own, because each changes the folder
  echo "$target: $((SECONDS - begin)) s"
done
