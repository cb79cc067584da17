#!/usr/bin/env bash
# A real single-node Kubernetes in namespaces of its own, without a registry and without a network. Needs root.
#
#   node.sh start [IMAGE.tar…]   start everything and wait until the node is Ready
#   node.sh stop                 end it; with KEEP=1 the data stays, and the next start is a reboot
#   node.sh status               its Pods, and what its programs use
#   node.sh load IMAGE.tar…      import images
#   node.sh apiserver            start the API server again, after it has ended
#   node.sh exec COMMAND…        run a command inside (all namespaces)
#   node.sh net COMMAND…         run a command of this machine in the network of the node: kubectl, clients
#
# KUBECONFIG is set for both. common.sh lists the variables.
set -euo pipefail
. "$(dirname "$0")/common.sh"
. "$here/pki.sh"
. "$here/namespaces.sh"
. "$here/daemons.sh"

start() {
  local begin user
  begin=$(cut -d' ' -f1 /proc/uptime)
  if [ ! -x "$BIN/kubelet" ]; then
    echo "$BIN has no programs: run programs.sh, or set POLICYD_NODE_BIN" >&2
    exit 1
  fi
  if alive; then
    echo "the node runs already"
    return
  fi
  trap '[ $? = 0 ] || { echo "the node did not start: see $DIR/log" >&2; KEEP=1 stop >&2; }' EXIT
  rm -rf "$DIR/log"
  mkdir -p "$DIR"/{log,etcd,containerd,kubelet,cni,var-log}
  make_certificates
  write_kubeconfig "$DIR/kubeconfig" admin
  for user in controller-manager scheduler proxy kubelet; do
    write_kubeconfig "$DIR/$user.kubeconfig" $user
  done
  make_namespaces
  make_cgroups
  start_containerd
  start_etcd
  start_apiserver
  wait_for "containerd" 30 inside ctr version
  load "$@"
  wait_for "the API server" 120 kubectl get --raw /readyz
  echo "API server ready after $(since "$begin") s"
  start_controllers
  start_kubelet
  start_proxy
  wait_for "the node" 120 node_ready
  wait_for "the default service account" 30 kubectl get serviceaccount default
  echo "node Ready after $(since "$begin") s"
}

node_ready() {
  kubectl get node node -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' | grep -q True
}

load() {
  local image
  for image in "$@"; do
    inside ctr -n k8s.io images import --snapshotter overlayfs "$(realpath "$image")"
  done
}

stop() {
  local pid left folder
  # An unshare whose child was never written down.
  if ! alive && [ -f "$DIR/holder.pid" ]; then
    pid=$(cat "$DIR/holder.pid")
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != unshare ] || kill -KILL "$pid"
  fi
  if alive; then
    # The kernel ends every process of its namespace, and with the last one mounts and network go.
    pid=$(cat "$DIR/init.pid")
    kill -KILL "$pid"
    wait_for "the end of the node" 20 test ! -d "/proc/$pid"
  fi
  rm -f "$DIR/init.pid" "$DIR/holder.pid"
  left=$(remove_cgroups)
  if [ "${KEEP:-}" != 1 ]; then
    for folder in etcd containerd kubelet cni var-log fake cgroups controller-certs scheduler-certs; do
      rm -rf "${DIR:?}/$folder"
    done
  fi
  [ -z "$left" ] || printf 'left behind: %s\n' "$left" >&2
  echo "the node is stopped"
}

status() {
  alive || { echo stopped; exit 3; }
  kubectl get nodes -o wide
  kubectl get pods --all-namespaces -o wide
  inside ps -eo comm,rss,time --no-headers |
    awk '{n[$1]++; rss[$1] += $2; time[$1] = $3}
         END {for (c in n) printf "%-18s %3d  %7.1f MiB  cpu %s\n", c, n[c], rss[c] / 1024, time[c]}' | sort
}

command=${1:-}
[ $# = 0 ] || shift
case $command in
  start | load | stop | status) "$command" "$@" ;;
  apiserver) start_apiserver ;;
  exec) inside "$@" ;;
  net) KUBECONFIG=$DIR/kubeconfig exec nsenter -t "$(cat "$DIR/init.pid")" -n -- "$@" ;;
  *)
    sed -n '/^#   node/,/^# KUBE/p' "$0"
    exit 2
    ;;
esac
