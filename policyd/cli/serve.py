"""``policyd serve``: reads the settings and starts the server. Serves nothing itself."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from policyd.cli.shared.settings import SectionedCommand, option, settings_options
from policyd.config import PREFIX, Settings, resolve
from policyd.errors import ConfigError
from policyd.gc_policy import collect_as_usual
from policyd.policy.source.tree import instead_of
from policyd.server import signals

if TYPE_CHECKING:
    from policyd.server.workers.supervisor import Supervisor

_EPILOG = """\b
Examples:
  policyd serve -p policies/ --self-signed           # try it on this machine
  policyd serve -p policies/ --tls-cert tls.crt --tls-key tls.key
  policyd serve --config server.yaml --capture /var/lib/policyd/capture
  policyd serve --cluster --policy-configmaps policyd.dev/policies=true \\
      --tls-cert tls.crt --tls-key tls.key
  policyd serve -p policies/ --cluster --register --self-signed --in-tree auto
  POLICYD_LOG_FORMAT=json policyd serve -p policies/ --self-signed \\
      --bind 127.0.0.1:8443

Exit status: 0 after SIGTERM or SIGINT, 2 if a setting is invalid or no policy can be loaded.
"""


@click.command("serve", cls=SectionedCommand, epilog=_EPILOG)
@option("--config FILE", "Read settings from this YAML file.  [POLICYD_CONFIG]")
@settings_options
def command(config: Path | None, **flags: Any) -> None:
    """Run the admission webhook: answer AdmissionReviews over TLS.

    Every setting is a flag, an environment variable and a key of the config file (maxInFlight for
    --max-in-flight). Flags override environment variables, which override the file. The brackets
    show the variable and the default, if the setting has one; the variables and keys of switches
    are true or false.
    """
    signals.ignore()
    if config is None and os.environ.get(PREFIX + "CONFIG"):
        config = Path(os.environ[PREFIX + "CONFIG"])
    document, lines = _document(config)
    settings = resolve(flags, os.environ, document, str(config), lines)
    _check(settings)
    # Imported here because --help and invalid settings do not need it.
    from policyd.tls.certificates import self_signed

    certificate = self_signed(settings) if settings.self_signed else None
    from policyd.server.composition import Server
    from policyd.server.policies.policy_loader import PolicyLoader

    serve: type[Server] | type[Supervisor] = Server
    if settings.workers > 1:
        from policyd.server.workers import supervisor

        serve = supervisor.Supervisor
    loader = PolicyLoader(keep=settings.last_good is not None, exports=bool(settings.in_tree))
    server = serve(
        settings,
        loader,
        certificate=certificate,
    )
    collect_as_usual()
    server.run()


def _document(config: Path | None) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the config file and the lines of its keys."""
    if config is None:
        return {}, {}
    from policyd.cli.shared.project import read_object

    document, origin = read_object(config, "settings")
    return document, {key: origin.find(key, at_key=True)[0] for key in document}


def _check(settings: Settings) -> None:
    if not settings.policies and not settings.policy_configmaps:
        raise ConfigError("no policies: name a file or directory with -p")
    for path in settings.policies:
        if not path.exists():
            instead = instead_of(str(path))
            hint = f"\n  hint: {instead}" if instead else ""
            raise ConfigError(f"{path}: no such file or directory{hint}")
        if not (path.is_dir() or path.is_file()):
            raise ConfigError(f"{path}: expected a file or a directory")
    _check_last_good(settings)


def _check_last_good(settings: Settings) -> None:
    """Reject a file that cannot be written, or that would be read as a source."""
    file = settings.last_good
    if not isinstance(file, Path):
        return
    if file.is_dir() or not file.parent.is_dir():
        raise ConfigError(f"--last-good {file}: expected a file in an existing directory")
    real = file.resolve()
    for path in settings.policies:
        if real.is_relative_to(path.resolve()):
            raise ConfigError(f"--last-good {file}: must not be among the policies in {path}")
