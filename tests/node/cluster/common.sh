# What the scripts of this folder share: where things are, and how a command runs inside of the node.
# Sourced, never run.
#
#   POLICYD_NODE_BIN   the programs that programs.sh built   (build/node/bin)
#   POLICYD_NODE_DIR   the state of the node                  (build/node/run)
#   SYNC               the kubelet's syncFrequency            (1m, as Kubernetes' own)
#   PROXY_MODE         the mode of kube-proxy                 (nftables)
#   APISERVER_FLAGS    more flags for kube-apiserver
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
BIN=$(realpath -m "${POLICYD_NODE_BIN:-$root/build/node/bin}")
DIR=$(realpath -m "${POLICYD_NODE_DIR:-$root/build/node/run}")
mkdir -p "$BIN" "$DIR"
SYNC=${SYNC:-1m}
PROXY_MODE=${PROXY_MODE:-nftables}

# One cgroup for each folder of state, so that two checkouts can run a node at the same time.
NAME=policyd-node-$(printf %s "$DIR" | cksum | cut -d' ' -f1)
IP=10.77.0.1
API=https://$IP:6443
SERVICES=10.96.0.0/16
PODS=10.244.0.0/24

LIB=$BIN/sys/usr/lib/x86_64-linux-gnu
INSIDE_PATH=$BIN:$BIN/sys/usr/sbin:$BIN/sys/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# Whether the first process of the node is there and is ours.
alive() {
  [ -f "$DIR/init.pid" ] || return 1
  local pid
  pid=$(cat "$DIR/init.pid")
  [ "$(readlink "/proc/$pid/exe")" = "$BIN/pause" ]
}

enter() { nsenter -t "$(cat "$DIR/init.pid")" -m -n -u -i -p -- "$@"; }

inside() { # inside COMMAND…: in all namespaces of the node
  enter env PATH="$INSIDE_PATH" LD_LIBRARY_PATH="$LIB" XTABLES_LIBDIR="$LIB/xtables" \
    KUBECONFIG="$DIR/kubeconfig" "$@"
}

daemon() { # daemon LOG COMMAND…: inside, in the background, until the node ends
  local log=$DIR/log/$1.log
  shift
  (
    cd "$DIR"
    exec setsid nsenter -t "$(cat init.pid)" -m -n -u -i -p -- \
      env PATH="$INSIDE_PATH" LD_LIBRARY_PATH="$LIB" "$@" </dev/null >>"$log" 2>&1
  ) &
}

kubectl() { # kubectl ARGUMENT…: as an administrator, from the network of the node
  nsenter -t "$(cat "$DIR/init.pid")" -n -- "$BIN/kubectl" --kubeconfig "$DIR/kubeconfig" "$@"
}

wait_for() { # wait_for WHAT SECONDS COMMAND…: until it succeeds
  local what=$1 end=$((SECONDS + $2))
  shift 2
  until "$@" >/dev/null 2>&1; do
    if [ "$SECONDS" -ge "$end" ]; then
      echo "not in time: $what" >&2
      return 1
    fi
    sleep 0.25
  done
}

since() { awk -v begin="$1" '{printf "%.1f", $1 - begin}' /proc/uptime; }
