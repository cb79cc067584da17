"""The option ``--kubernetes-version``, and the version of a cluster. Loads no policies."""

from policyd.cli.shared.kubeconfig import Kubeconfig
from policyd.cli.shared.output import warn
from policyd.cli.shared.settings import VERSIONS, AddOption, OptionValue, option
from policyd.versions import NEWEST, SPAN, KubernetesVersion, nearest, supported

VERSION = OptionValue("VERSION", supported, VERSIONS)


def version_option(*, of_cluster: str = "") -> AddOption:
    """Add the argument ``version`` to a command. It defaults to the newest version, or to None if
    the command can look up the version of a cluster; ``of_cluster`` then is the default's name.
    """
    otherwise = f"  [default: {of_cluster}]" if of_cluster else ""
    return option(
        "--kubernetes-version",
        f"Evaluate policies as this Kubernetes version does ({SPAN}).{otherwise}",
        to="version",
        type=VERSION,
        default=None if of_cluster else NEWEST,
    )


def version_of(kube: Kubeconfig) -> KubernetesVersion:
    """Look up the cluster's version, or the nearest supported one; the newest if that fails."""
    from policyd.cluster.listing import ApiReadError

    with kube.reader() as reader:
        try:
            version, warning = nearest(KubernetesVersion.parse(reader.version()))
        except (ApiReadError, ValueError) as error:
            version = NEWEST
            warning = (
                f"cannot read the cluster's Kubernetes version ({error}); evaluating policies as "
                f"Kubernetes {NEWEST}"
            )
    if warning:
        warn(warning)
    return version
