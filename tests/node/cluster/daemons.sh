# The programs of the node: their settings and how they are started. Sourced by node.sh.

start_containerd() {
  mkdir -p "$DIR/cni-conf"
  cat >"$DIR/cni-conf/10-node.conflist" <<END
{
  "cniVersion": "1.0.0", "name": "node", "plugins": [{
    "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "$PODS"}]], "routes": [{"dst": "0.0.0.0/0"}]}
  }]
}
END
  cat >"$DIR/containerd.toml" <<END
version = 3
root = '/var/lib/containerd'
state = '/run/containerd'
[grpc]
  address = '/run/containerd/containerd.sock'
[plugins.'io.containerd.cri.v1.images']
  snapshotter = 'overlayfs'
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = 'docker.io/library/pause:node'
[plugins.'io.containerd.cri.v1.runtime']
  # Where root has no CAP_SYS_RESOURCE, a score below the machine's cannot be set.
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['$BIN/cni']
    conf_dir = '$DIR/cni-conf'
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      BinaryName = '$BIN/sys/usr/sbin/runc'
      SystemdCgroup = false
END
  daemon containerd "$BIN/containerd" --config "$DIR/containerd.toml"
}

start_etcd() {
  local clients=http://127.0.0.1:2379 peers=http://127.0.0.1:2380
  daemon etcd "$BIN/etcd" --data-dir "$DIR/etcd" --log-level warn --unsafe-no-fsync=true \
    --listen-client-urls $clients --advertise-client-urls $clients \
    --listen-peer-urls $peers --initial-advertise-peer-urls $peers \
    --initial-cluster default=$peers
}

start_apiserver() {
  local pki=$DIR/pki
  # shellcheck disable=SC2086  # several flags
  daemon apiserver "$BIN/kube-apiserver" --etcd-servers http://127.0.0.1:2379 \
    --secure-port 6443 --bind-address 0.0.0.0 --advertise-address $IP --cert-dir "$pki" \
    --tls-cert-file "$pki/apiserver.crt" --tls-private-key-file "$pki/apiserver.key" \
    --client-ca-file "$pki/ca.crt" --allow-privileged=true \
    --service-account-key-file "$pki/service-accounts.pub" \
    --service-account-signing-key-file "$pki/service-accounts.key" \
    --service-account-issuer https://kubernetes.default.svc \
    --service-cluster-ip-range $SERVICES --authorization-mode Node,RBAC \
    --enable-admission-plugins NodeRestriction \
    --kubelet-client-certificate "$pki/admin.crt" --kubelet-client-key "$pki/admin.key" \
    --kubelet-preferred-address-types InternalIP \
    --requestheader-client-ca-file "$pki/ca.crt" --requestheader-allowed-names front-proxy \
    --requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group \
    --requestheader-extra-headers-prefix X-Remote-Extra- \
    --proxy-client-cert-file "$pki/front-proxy.crt" \
    --proxy-client-key-file "$pki/front-proxy.key" \
    --audit-policy-file "$here/audit-policy.yaml" --audit-log-path "$DIR/log/audit.log" \
    ${APISERVER_FLAGS:-}
}

start_controllers() {
  local pki=$DIR/pki
  daemon controller-manager "$BIN/kube-controller-manager" \
    --kubeconfig "$DIR/controller-manager.kubeconfig" \
    --authentication-kubeconfig "$DIR/controller-manager.kubeconfig" \
    --authorization-kubeconfig "$DIR/controller-manager.kubeconfig" \
    --service-account-private-key-file "$pki/service-accounts.key" --root-ca-file "$pki/ca.crt" \
    --cluster-signing-cert-file "$pki/ca.crt" --cluster-signing-key-file "$pki/ca.key" \
    --use-service-account-credentials=true --leader-elect=false --bind-address 127.0.0.1 \
    --flex-volume-plugin-dir /var/lib/kubelet/volumeplugins --cert-dir "$DIR/controller-certs"
  daemon scheduler "$BIN/kube-scheduler" --kubeconfig "$DIR/scheduler.kubeconfig" \
    --authentication-kubeconfig "$DIR/scheduler.kubeconfig" \
    --authorization-kubeconfig "$DIR/scheduler.kubeconfig" \
    --leader-elect=false --bind-address 127.0.0.1 --cert-dir "$DIR/scheduler-certs"
}

start_kubelet() {
  local version=cgroupRoot
  [ -f /sys/fs/cgroup/cgroup.controllers ] || version=failCgroupV1
  cat >"$DIR/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
$([ $version = cgroupRoot ] || echo "failCgroupV1: false")
cgroupDriver: cgroupfs
cgroupRoot: /$NAME
enforceNodeAllocatable: []
# Less takes CAP_SYS_RESOURCE.
oomScoreAdj: 0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: $DIR/pki/ca.crt}
authorization: {mode: Webhook}
tlsCertFile: $DIR/pki/kubelet.crt
tlsPrivateKeyFile: $DIR/pki/kubelet.key
clusterDomain: cluster.local
clusterDNS: [10.96.0.10]
resolvConf: $DIR/resolv.conf
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
volumePluginDir: /var/lib/kubelet/volumeplugins
makeIPTablesUtilChains: false
# An image loaded from a file stays usable after the same image was pulled under another name.
imagePullCredentialsVerificationPolicy: NeverVerify
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard:
  {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%, imagefs.inodesFree: 1%}
syncFrequency: $SYNC
maxPods: 110
END
  daemon kubelet "$BIN/kubelet" --config "$DIR/kubelet.yaml" \
    --kubeconfig "$DIR/kubelet.kubeconfig" --hostname-override node --node-ip $IP \
    --root-dir /var/lib/kubelet --cert-dir /var/lib/kubelet/pki \
    --node-labels topology.kubernetes.io/zone=here
}

start_proxy() {
  cat >"$DIR/proxy.yaml" <<END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: $PROXY_MODE
clientConnection: {kubeconfig: $DIR/proxy.kubeconfig}
clusterCIDR: $PODS
hostnameOverride: node
oomScoreAdj: 0
# 0 leaves the settings of the machine as they are.
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
END
  daemon proxy "$BIN/kube-proxy" --config "$DIR/proxy.yaml"
}
