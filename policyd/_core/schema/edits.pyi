from typing import final

@final
class Edit: ...

@final
class Edits: ...
