from typing import final

@final
class ReadTrees:
    def __init__(self, trees: tuple[object, ...]) -> None: ...
