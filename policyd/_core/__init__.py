"""The compiled core: CEL evaluation, matching, patching. Depends only on RE2 and orjson."""
