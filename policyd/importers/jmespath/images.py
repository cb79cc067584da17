"""What Kyverno reads from the names of images: `images.containers.NAME.registry` (kyverno/kyverno
pkg/utils/image).
"""

from dataclasses import dataclass

from policyd.export.expressions.cel import FALSE, MEMBER, TERNARY, Cel
from policyd.importers.jmespath.cel import quoted, some, variable
from policyd.importers.jmespath.kinds import ANY, MAP, STRING, JsonKind
from policyd.importers.jmespath.streams import CelList, Generator
from policyd.importers.jmespath.values import CelValue, FieldStep
from policyd.importers.jmespath.vocabulary import NotTranslatable
from policyd.json_types import JSON

# The part before the first slash is a registry if it is like a host.
_REGISTRY = r"r'^(localhost|[^/]*[.:A-Z][^/]*)/'"


@dataclass(frozen=True, slots=True)
class ContainerImage(CelValue):
    """The parts of an image's name; ``base`` is the name."""

    def select(self, name: str, kind: JsonKind = ANY) -> CelValue:
        """Return a part.

        Raises NotTranslatable for those that are not here.
        """
        image = self.base.at(MEMBER)
        hosted = f"{image}.matches({_REGISTRY})"
        rest = f"({hosted} ? {image}.substring({image}.indexOf('/') + 1) : {image})"
        default = f"({image}.contains('@') ? ':' : ':latest')"
        parts = {
            "registry": Cel(f"{hosted} ? {image}.split('/')[0] : 'docker.io'", TERNARY),
            "path": Cel(f"{rest}.split('@')[0].split(':')[0]"),
            "name": Cel(f"{image}.split('/').last().value().split('@')[0].split(':')[0]"),
            "tag": Cel(f"({rest}.split('@')[0] + {default}).split(':')[1]"),
        }
        if name not in parts:
            raise NotTranslatable(f"`{name}` of `images` has no counterpart")
        if name == "registry":
            return ImageRegistry(parts[name], STRING, needs=self.needs, image=self.base)
        return CelValue(parts[name], STRING, needs=self.needs)


@dataclass(frozen=True, slots=True)
class ImageRegistry(CelValue):
    """The registry of ``image``, CEL of its name."""

    image: Cel = FALSE

    def one_of(self, written: list[JSON]) -> Cel | None:
        """Return CEL that is true if it is one of these; None if that has no short form."""
        hosts = [each for each in written if isinstance(each, str) and each != "docker.io"]
        if len(hosts) < len(written) or not all(set(each) & {".", ":"} for each in hosts):
            return None
        image = self.image.at(MEMBER)
        return some(*(Cel(f"{image}.startsWith({quoted(f'{host}/')})") for host in hosts))


@dataclass(frozen=True, slots=True)
class ContainerImages(CelValue):
    """The images of a list of containers, by the names of the containers."""

    def each(self, taken: frozenset[str]) -> CelList:
        """Return the images."""
        name = variable(self.name, taken)
        container = CelValue(Cel(name)).select("image")
        image = ContainerImage(container.cel(), MAP, needs=container.presence())
        return CelList((Generator(name, self),), image, needs=self.presence())

    def at(self, step: FieldStep, kind: JsonKind = ANY) -> CelValue:
        """Return the image of the container with a name, which is CEL: ``element.name``.

        Raises NotTranslatable for any other name.
        """
        container, dot, name = step.text.rpartition(".") if isinstance(step, Cel) else ("", "", "")
        if not dot or name != "name":
            raise NotTranslatable("an image by the name of a container has no counterpart")
        return ContainerImage(Cel(f"{container}.image"), MAP)
