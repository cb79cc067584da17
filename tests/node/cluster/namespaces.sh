# The namespaces and cgroups of the node. Sourced by node.sh.
#
# Nothing of the machine changes: the node has mounts, processes, a host name and a network of its own, without a link to another
# network, and ending its first process ends everything in it.

make_namespaces() {
  setsid unshare --mount --propagation private --net --uts --ipc --pid --fork --mount-proc \
    --kill-child=KILL "$BIN/pause" </dev/null >"$DIR/log/init.log" 2>&1 &
  echo $! >"$DIR/holder.pid"
  wait_for "the first process of the node" 20 first_process $!
  mkdir -p "$DIR/fake"
  printf '1\n' >"$DIR/fake/overcommit_memory"
  printf '10\n' >"$DIR/fake/panic"
  printf '1\n' >"$DIR/fake/panic_on_oops"
  printf 'nameserver 10.96.0.10\n' >"$DIR/resolv.conf"
  printf '127.0.0.1 localhost\n%s node\n' $IP >"$DIR/hosts"
  enter bash -euo pipefail -s <<END
hostname node

# /sys of this network, with the cgroups of the machine.
mkdir -p "$DIR/cgroups"
mount --rbind /sys/fs/cgroup "$DIR/cgroups"
mount -t sysfs sysfs /sys
mount --rbind "$DIR/cgroups" /sys/fs/cgroup
umount -l "$DIR/cgroups"

mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib
mount --bind "$DIR/var-log" /var/log
mount --bind "$DIR/hosts" /etc/hosts
for folder in kubelet cni containerd; do
  mkdir /var/lib/\$folder
  mount --bind "$DIR/\$folder" /var/lib/\$folder
done

# The kubelet would set these for the whole machine. It sees them as set already, and cannot write them.
mount --bind "$DIR/fake/overcommit_memory" /proc/sys/vm/overcommit_memory
mount --bind "$DIR/fake/panic" /proc/sys/kernel/panic
mount --bind "$DIR/fake/panic_on_oops" /proc/sys/kernel/panic_on_oops
for folder in kernel vm fs; do
  mount --rbind /proc/sys/\$folder /proc/sys/\$folder
  mount -o remount,bind,ro /proc/sys/\$folder
done

# Mounts that the kubelet makes must reach the shims of containerd.
mount --make-rshared /

ip link set lo up
ip link add node0 type bridge
ip addr add $IP/24 dev node0
ip link set node0 up
# Leads nowhere: kube-proxy translates the addresses of Services on the way.
ip route add default dev node0
echo 1 >/proc/sys/net/ipv4/ip_forward
END
}

# Whether the first process of the namespaces runs, as a child of unshare; its id is kept.
first_process() { # first_process UNSHARE
  local pid
  for pid in $(cat "/proc/$1/task/$1/children"); do
    echo "$pid" >"$DIR/init.pid"
    ! alive || return 0
  done
  return 1
}

# cgroups of version 1: one in each hierarchy. (Version 2 needs none: the kubelet makes its own.)
make_cgroups() {
  local hierarchy file
  for hierarchy in /sys/fs/cgroup/*/; do
    case $hierarchy in */unified/) ;; *) mkdir -p "$hierarchy$NAME" ;; esac
  done
  # The node has the weight of a machine, not of one process.
  if [ -f "/sys/fs/cgroup/cpu/$NAME/cpu.shares" ]; then echo 16384 >"/sys/fs/cgroup/cpu/$NAME/cpu.shares"; fi
  if [ -f /sys/fs/cgroup/cpuset/cpuset.cpus ]; then
    for file in cpus mems; do
      cat "/sys/fs/cgroup/cpuset/cpuset.$file" >"/sys/fs/cgroup/cpuset/$NAME/cpuset.$file"
    done
  fi
}

remove_cgroups() {
  local hierarchy _
  for hierarchy in /sys/fs/cgroup/*/; do
    for _ in 1 2 3 4 5; do
      [ -d "$hierarchy$NAME" ] || break
      find "$hierarchy$NAME" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.2
    done
  done
  find /sys/fs/cgroup -maxdepth 2 -name "$NAME"
}
