from typing import final

@final
class Configured: ...
