# The certificates of the node and a kubeconfig for each of its programs. Sourced by node.sh.

new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

signed() { # signed NAME SUBJECT ALTERNATIVE_NAMES: NAME.key and NAME.crt of the authority here
  new_key "$1.key"
  openssl req -new -key "$1.key" -subj "$2" -out "$1.csr"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 365 -out "$1.crt" \
    -extfile <(printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth' "$3") 2>/dev/null
  rm "$1.csr"
}

make_certificates() (
  mkdir -p "$DIR/pki"
  cd "$DIR/pki"
  [ ! -f done ] || return 0
  new_key ca.key
  openssl req -x509 -new -key ca.key -days 365 -subj /CN=ca -out ca.crt \
    -addext keyUsage=critical,keyCertSign,digitalSignature
  local service=kubernetes.default.svc
  signed apiserver /CN=kube-apiserver \
    "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:$service,IP:127.0.0.1,IP:$IP,IP:10.96.0.1"
  signed admin /O=system:masters/CN=admin DNS:admin
  signed controller-manager /CN=system:kube-controller-manager DNS:controller-manager
  signed scheduler /CN=system:kube-scheduler DNS:scheduler
  signed proxy /CN=system:kube-proxy DNS:proxy
  signed kubelet /O=system:nodes/CN=system:node:node "DNS:node,IP:$IP"
  signed front-proxy /CN=front-proxy DNS:front-proxy
  new_key service-accounts.key
  openssl ec -in service-accounts.key -pubout -out service-accounts.pub 2>/dev/null
  touch done
)

write_kubeconfig() { # write_kubeconfig FILE USER
  cat >"$1" <<END
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "$API", certificate-authority: $DIR/pki/ca.crt}}]
users: [{name: u, user: {client-certificate: $DIR/pki/$2.crt, client-key: $DIR/pki/$2.key}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
END
}
