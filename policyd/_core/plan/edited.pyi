from typing import final

@final
class EditedObject: ...
