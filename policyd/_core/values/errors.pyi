from typing import final

@final
class CelError:
    def __init__(self, message: str) -> None: ...
    @property
    def message(self) -> str: ...
